#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/system/descriptor.hpp"
#include "core/text/json.hpp"
#include "spdnn/tensor.hpp"
#include "spdnn/types.hpp"

namespace spdnn::bench {

/// Microsoft's onnxruntime, in a process of its own under node or Python: a model and images that it has in memory.
class OnnxRuntime {
 public:
  /// Starts node, which takes the package onnxruntime-node from NODE_PATH, from node_modules in the working directory,
  /// or from where `make deps` installs it; or else Python with its package onnxruntime. DeviceError if neither is
  /// there. The file `messages` takes what the process prints.
  OnnxRuntime(int threads, const std::filesystem::path& messages);
  ~OnnxRuntime();
  OnnxRuntime(const OnnxRuntime&) = delete;
  OnnxRuntime& operator=(const OnnxRuntime&) = delete;

  const std::string& version() const { return version_; }
  const std::string& host() const { return host_; }  ///< node or python3

  // DataError with onnxruntime's message if it refuses, DeviceError if it has ended.

  /// Takes an ONNX file, and an .npy file with its first input.
  void load(const std::filesystem::path& model, const std::filesystem::path& input);
  /// All outputs, in the file's order; NaN in place of what is not finite.
  std::vector<NamedTensor> outputs();
  /// Seconds of each run, from "input in memory" to "outputs in memory".
  std::vector<double> times(Index runs);

 private:
  bool start(std::vector<std::string> words);
  void end();
  /// Empty if the process has ended.
  std::string line();
  Json ask(const std::string& words);

  std::filesystem::path messages_;
  Descriptor socket_;
  pid_t child_ = 0;  ///< 0: none
  std::string read_;
  std::string version_, host_;
};

}  // namespace spdnn::bench
