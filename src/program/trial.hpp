#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/system/host_memory.hpp"
#include "program/kernel.hpp"
#include "program/target.hpp"

namespace spdnn::program {

/// One offer on operands of its own, to be timed outside of a program.
class Trial {
 public:
  /// Writes a tensor of that shape, in that layout, to memory of the host.
  using Fill = std::function<void(std::byte* to, const Layout& layout, const Shape& shape)>;
  /// `target`: the device that the kernel runs on; null: the host. It outlives the trial.
  Trial(const Request& request, const Offer& offer, const Fill& fill, Target* target = nullptr);
  Trial(const Change& change, const Offer& offer, const Fill& fill, Target* target = nullptr);

  /// The kernel's, on how it was prepared; empty if it has none.
  const std::string& remark() const { return remark_; }
  /// The seconds of each of `runs` runs, by the device's clock if there is one.
  std::vector<double> seconds(Index runs);
  /// Copies bytes of the output of the last run, which is in the offer's layout.
  void read_output(std::size_t first, std::size_t bytes, std::byte* to) const;
  /// All of it.
  HostMemory<std::byte> output() const;

 private:
  Trial(const std::vector<Shape>& inputs, const Shape& output, const Offer& offer, const Fill& fill, Target* target);
  std::byte* new_memory(std::size_t bytes, bool on_device);
  void write(std::byte* to, std::size_t bytes, bool on_device, const std::function<void(std::byte*)>& fill);

  Target* target_;
  std::vector<std::shared_ptr<std::byte>> memory_;
  std::unique_ptr<Bound> bound_;
  std::string remark_;
  const std::byte* output_ = nullptr;
  std::size_t output_bytes_ = 0;
};

}  // namespace spdnn::program
