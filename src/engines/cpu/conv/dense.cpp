// The variant conv_dense: oneDNN, in a shared object that is opened by the first run that asks for it.

#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>
#include <string>

#include "core/build_info.hpp"
#include "core/parallel.hpp"
#include "core/shared_library.hpp"
#include "engines/cpu/conv/dense_plugin.hpp"
#include "engines/model_variant_lines.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

SPDNN_DECLARE_MODEL_VARIANT(conv_dense)

namespace {

struct Opened {
  const SpdnnDenseFunctions* functions = nullptr;
  std::string why_not{};
};

Opened open() {
  constexpr const char* kName = "spdnn_onednn.so";
  Opened opened;
  for (const std::filesystem::path& path : plugins({kName})) {
    using Get = const SpdnnDenseFunctions* (*)();
    const auto get =
        reinterpret_cast<Get>(plugin_function(path, "spdnn_dense_functions_1", RTLD_LOCAL, opened.why_not));
    if (get == nullptr) continue;
    if (get()->build == build_info().version + " " + build_info().commit) return {get()};
    opened.why_not += fmt::format("; {} is of another build ({})", path.native(), get()->build);
  }
  if (opened.why_not.empty())
    opened.why_not =
        fmt::format("; there is no {} beside the program: it is built where libdnnl-dev is installed", kName);
  return opened;
}

const Opened& opened() {
  static const Opened once = open();
  return once;
}

ModelEngineOptions with_threads(ModelEngineOptions options) {
  options.threads = host_threads(options.threads);
  return options;
}

}  // namespace

Support support_conv_dense(const Model& model, const ModelEngineOptions& options) {
  if (opened().functions == nullptr) return {.why_not = "conv_dense: oneDNN cannot be used" + opened().why_not};
  return opened().functions->support(model, with_threads(options));
}

std::unique_ptr<ModelEngine> make_conv_dense(std::shared_ptr<const Model> model, const ModelEngineOptions& options) {
  if (options.threads > 0) require_threads(options.threads);
  return opened().functions->make(std::move(model), with_threads(options));
}

}  // namespace spdnn
