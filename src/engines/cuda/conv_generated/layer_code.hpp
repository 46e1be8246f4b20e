#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "program/kernel.hpp"
#include "spdnn/array.hpp"

namespace spdnn::cuda {

/// The machine code of a layer's kernels. It is compiled in child processes, which may crash or hang, by threads that
/// all layers share, or taken from the model or from the cache directory, where it is kept by a digest of all that it
/// depends on.
class LayerCode {
 public:
  struct Source {
    std::string digest;
    std::size_t kernels = 0;
    std::function<std::vector<std::byte>(std::size_t kernel)> compile;  ///< is called in child processes
    Array<std::byte> of_model{};  ///< record() of a run before, which the model was stored with; may be empty
  };

  /// Starts compiling, if neither the model nor the cache directory has the kernels.
  explicit LayerCode(Source source);
  /// Ends what is still compiled.
  ~LayerCode();
  LayerCode(const LayerCode&) = delete;
  LayerCode& operator=(const LayerCode&) = delete;

  /// By kernel; waits until `deadline`. DeviceError that names the reason if there is none by then or the compiler
  /// failed. Compiled kernels are kept in the cache directory.
  const std::vector<std::vector<std::byte>>& get(std::chrono::steady_clock::time_point deadline);

  program::Prepared::Source source() const { return from_; }
  /// All kernels as the cache directory has them. After get().
  std::vector<std::byte> record() const;
  /// Of all threads; 0 if the code is not compiled.
  double compile_seconds() const;
  std::size_t bytes() const;
  /// The error in the model's record or the cache directory's file, or the reason why no file was written; empty if
  /// there is none.
  const std::string& remark() const { return remark_; }

 private:
  struct State;
  void take_record_of_model();
  void read_cache();
  void write_cache();

  Source source_;
  std::shared_ptr<State> state_;  ///< outlives this object while a thread compiles
  std::vector<std::vector<std::byte>> code_;
  program::Prepared::Source from_ = program::Prepared::Source::compiled;
  std::string failure_;  ///< why there is no code and will be none
  std::string remark_;
};

}  // namespace spdnn::cuda
