#include "engines/cuda/conv_generated/compiler.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <nvJitLink.h>

#include "core/system/shared_library.hpp"
#include "spdnn/error.hpp"

namespace spdnn::cuda {

namespace {

const SharedLibrary& library() {
  static const SharedLibrary library({fmt::format("libnvJitLink.so.{}", CUDART_VERSION / 1000)},
                                     "it comes with the CUDA toolkit, and generated code is compiled by it");
  return library;
}

#define SPDNN_FUNCTION(name) library().function<decltype(name)>(#name)

/// A compilation.
class Linker {
 public:
  explicit Linker(const std::string& arch) {
    const std::string option = "-arch=" + arch;
    const char* options[] = {option.c_str()};
    check(SPDNN_FUNCTION(nvJitLinkCreate)(&handle_, 1, options));
  }
  ~Linker() { SPDNN_FUNCTION(nvJitLinkDestroy)(&handle_); }
  Linker(const Linker&) = delete;
  Linker& operator=(const Linker&) = delete;

  std::vector<std::byte> compile(const std::string& ptx) {
    check(SPDNN_FUNCTION(nvJitLinkAddData)(handle_, NVJITLINK_INPUT_PTX, ptx.data(), ptx.size(), "convolve"));
    check(SPDNN_FUNCTION(nvJitLinkComplete)(handle_));
    std::size_t size = 0;
    check(SPDNN_FUNCTION(nvJitLinkGetLinkedCubinSize)(handle_, &size));
    std::vector<std::byte> code(size);
    check(SPDNN_FUNCTION(nvJitLinkGetLinkedCubin)(handle_, code.data()));
    return code;
  }

 private:
  void check(nvJitLinkResult result) {
    if (result == NVJITLINK_SUCCESS) return;
    std::size_t size = 0;
    std::string log;
    if (handle_ != nullptr && SPDNN_FUNCTION(nvJitLinkGetErrorLogSize)(handle_, &size) == NVJITLINK_SUCCESS &&
        size > 1) {
      log.resize(size);
      SPDNN_FUNCTION(nvJitLinkGetErrorLog)(handle_, log.data());
      log = ": " + log.substr(0, log.find_first_of(std::string("\n\0", 2)));
    }
    throw DeviceError(fmt::format("nvJitLink failed with code {}{}", static_cast<int>(result), log));
  }

  nvJitLinkHandle handle_ = nullptr;
};

}  // namespace

std::string why_no_compiler() {
  static const std::string why_not = []() -> std::string {
    try {
      library();
      return {};
    } catch (const DeviceError& error) {
      return error.what();
    }
  }();
  return why_not;
}

std::vector<std::byte> compiled(const std::string& ptx, const std::string& arch) { return Linker(arch).compile(ptx); }

std::string compiler_version() {
  unsigned major = 0;
  unsigned minor = 0;
  SPDNN_FUNCTION(nvJitLinkVersion)(&major, &minor);
  return fmt::format("nvJitLink {}.{}", major, minor);
}

}  // namespace spdnn::cuda
