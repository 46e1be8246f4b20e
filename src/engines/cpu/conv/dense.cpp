// The variants conv_dense and sparse_linear: oneDNN, in a shared object that is opened by the first run that asks for
// it.

#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>
#include <string>

#include "core/build_info.hpp"
#include "core/parallel.hpp"
#include "core/shared_library.hpp"
#include "engines/cpu/conv/dense_plugin.hpp"
#include "engines/cpu/conv/sparse_linear.hpp"
#include "engines/model_variant_lines.hpp"
#include "model/graph/node_text.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

SPDNN_DECLARE_MODEL_VARIANT(conv_dense)
SPDNN_DECLARE_MODEL_VARIANT(sparse_linear)

namespace {

struct Opened {
  const SpdnnDenseFunctions* functions = nullptr;
  std::string why_not{};
};

/// DeviceError where the plug-in and the program may have other types.
Opened open() {
  constexpr const char* kName = "spdnn_onednn.so";
  Opened opened;
  for (const std::filesystem::path& path : plugins({kName})) {
    using Get = const SpdnnDenseFunctions* (*)();
    const auto get =
        reinterpret_cast<Get>(plugin_function(path, "spdnn_dense_functions_1", RTLD_LOCAL, opened.why_not));
    if (get == nullptr) continue;
    if (get()->build == interface_text()) return {get()};
    throw DeviceError(fmt::format("{}: built with {}, but this program is {}; make builds both", path.native(),
                                  get()->build, interface_text()));
  }
  if (opened.why_not.empty()) opened.why_not = fmt::format("; {} is not beside the program, where make puts it", kName);
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

Support support(const char* name, const Model& model, const ModelEngineOptions& options, bool sparse_linear) {
  if (opened().functions == nullptr)
    return {.why_not = fmt::format("{}: oneDNN cannot be used{}", name, opened().why_not)};
  Support support = opened().functions->support(model, with_threads(options), sparse_linear);
  if (!support.takes()) support.why_not = fmt::format("{}: {}", name, support.why_not);
  return support;
}

std::unique_ptr<ModelEngine> make(std::shared_ptr<const Model> model, const ModelEngineOptions& options,
                                  bool sparse_linear) {
  if (options.threads > 0) require_threads(options.threads);
  return opened().functions->make(std::move(model), with_threads(options), sparse_linear);
}

/// How many rows a linear node has for a batch of images: all axes but the last.
Extent rows_of(const Shape& shape, Index images) {
  Extent rows = 1;
  for (std::size_t axis = 0; axis + 1 < shape.size(); ++axis)
    rows *= shape[axis] == kBatchExtent ? Extent{images} : shape[axis];
  return rows;
}

}  // namespace

Support support_conv_dense(const Model& model, const ModelEngineOptions& options) {
  Support found = support("conv_dense", model, options, false);
  if (found.takes()) add_zeros_remark(model, {}, found);
  return found;
}

std::unique_ptr<ModelEngine> make_conv_dense(std::shared_ptr<const Model> model, const ModelEngineOptions& options) {
  return make(std::move(model), options, false);
}

/// Preferred where there is a linear node that is sparse enough.
Support support_sparse_linear(const Model& model, const ModelEngineOptions& options) {
  Support found = support("sparse_linear", model, options, true);
  found.preference = Preference::last_resort;
  std::vector<Index> without_zeros;
  for (std::size_t n = 0; n < model.nodes.size(); ++n) {
    const auto* const linear = std::get_if<Linear>(&model.nodes[n].operation);
    if (linear == nullptr || !found.takes()) continue;
    const Extent rows = rows_of(model.values[model.nodes[n].output].shape, options.images_for_kernels());
    if (sparse_linear_pays(linear->weights, rows)) {
      found.preference = Preference::preferred;
      without_zeros.push_back(static_cast<Index>(n));
    }
    found.remarks.push_back(fmt::format("{} runs {}", node_text(model, n), sparse_linear_text(linear->weights, rows)));
  }
  if (found.takes()) add_zeros_remark(model, without_zeros, found);
  return found;
}

std::unique_ptr<ModelEngine> make_sparse_linear(std::shared_ptr<const Model> model, const ModelEngineOptions& options) {
  return make(std::move(model), options, true);
}

}  // namespace spdnn
