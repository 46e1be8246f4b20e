#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <vector>

namespace spdnn::cuda {

/// The machine code of a layer's kernels. It is compiled in child processes, which may crash or hang, by threads that
/// all layers share, or read from the cache directory, where it is kept by a digest of all that it depends on.
class LayerCode {
 public:
  struct Source {
    std::string digest;
    std::size_t kernels = 0;
    std::function<std::vector<std::byte>(std::size_t kernel)> compile;  ///< is called in child processes
  };

  /// Starts compiling the kernels that the cache directory lacks.
  explicit LayerCode(Source source);
  /// Ends what is still compiled.
  ~LayerCode();
  LayerCode(const LayerCode&) = delete;
  LayerCode& operator=(const LayerCode&) = delete;

  /// By kernel; waits until `deadline`. DeviceError that names the reason if there is none by then or the compiler
  /// failed. Compiled kernels are kept in the cache directory.
  const std::vector<std::vector<std::byte>>& get(std::chrono::steady_clock::time_point deadline);

  /// Of all threads; 0 if the code is from the cache directory.
  double compile_seconds() const;
  std::size_t bytes() const;
  /// The error in the cache directory's file, or the reason why none was written; empty if there is neither.
  const std::string& remark() const { return remark_; }

 private:
  struct State;
  void read_cache();
  void write_cache();

  Source source_;
  std::shared_ptr<State> state_;  ///< outlives this object while a thread compiles
  std::vector<std::vector<std::byte>> code_;
  bool from_cache_ = false;
  std::string failure_;  ///< why there is no code and will be none
  std::string remark_;
};

}  // namespace spdnn::cuda
