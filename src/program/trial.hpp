#pragma once

#include <memory>
#include <vector>

#include "core/system/host_memory.hpp"
#include "program/kernel.hpp"

namespace spdnn::program {

/// One offer on operands of its own, to be timed outside of a program. Every number of the inputs is 1/2, in fp32 and
/// in bf16: times do not depend on them.
class Trial {
 public:
  Trial(const Request& request, const Offer& offer);
  void run() { bound_->run(); }

 private:
  std::byte* memory_of(std::size_t bytes);

  std::vector<HostMemory<std::byte>> memory_;
  std::unique_ptr<Bound> bound_;
};

}  // namespace spdnn::program
