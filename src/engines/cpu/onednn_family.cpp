// The family onednn, in a shared object that the first run that needs it opens.

#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>
#include <string>

#include "core/system/build_info.hpp"
#include "core/system/shared_library.hpp"
#include "engines/cpu/onednn_plugin.hpp"
#include "program/family.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

SPDNN_DECLARE_KERNELS(onednn)

namespace {

struct Opened {
  const SpdnnOnednnFunctions* functions = nullptr;
  std::string why_not{};
};

/// DeviceError if the plug-in and the program may have different types.
Opened open_onednn() {
  constexpr const char* kName = "spdnn_onednn.so";
  Opened opened;
  for (const std::filesystem::path& path : plugins({kName})) {
    using Get = const SpdnnOnednnFunctions* (*)();
    const auto get =
        reinterpret_cast<Get>(plugin_function(path, "spdnn_onednn_functions_2", RTLD_LOCAL, opened.why_not));
    if (get == nullptr) continue;
    if (get()->build == interface_text()) return {get()};
    throw DeviceError(fmt::format("{}: built with {}, but this program is {}; make builds both", path.native(),
                                  get()->build, interface_text()));
  }
  if (opened.why_not.empty()) opened.why_not = fmt::format("; {} is not beside the program, where make puts it", kName);
  return opened;
}

}  // namespace

program::FamilyKernels kernels_onednn(Precision precision) {
  static const Opened opened = open_onednn();
  if (opened.functions == nullptr) return {.why_not = "oneDNN cannot be used" + opened.why_not};
  std::string why_not = opened.functions->why_not(precision);
  if (!why_not.empty()) return {.why_not = std::move(why_not)};
  return {.kernels = opened.functions->kernels()};
}

}  // namespace spdnn
