#pragma once

#include "engines/model_engine.hpp"

// The expansions of a line of src/engines/model_variants.def; see engines/variant_lines.hpp.

/// The declarations of the two functions that a variant consists of, in namespace spdnn.
#define SPDNN_DECLARE_MODEL_VARIANT(name)                                        \
  Support support_##name(const Model& model, const ModelEngineOptions& options); \
  std::unique_ptr<ModelEngine> make_##name(std::shared_ptr<const Model> model, const ModelEngineOptions& options);

/// An element of a std::vector<ModelVariant>.
#define SPDNN_LIST_MODEL_VARIANT(name, device, description, ...) \
  {#name, Device::device, description, {__VA_ARGS__}, support_##name, make_##name},

namespace spdnn {

/// For engines: UsageError if the tensor is not the model's input with 1 to `batch` images. Returns their number, 1 for
/// a model whose input has no kBatchExtent.
Index images_of(const Model& model, const Tensor& input, Index batch);

/// For engines, as a remark of their Support: adds the number of the model's zero weights, and of those that are
/// skipped, in the nodes `without_zeros`. Adds nothing if no weight is zero.
void add_zeros_remark(const Model& model, const std::vector<Index>& without_zeros, Support& support);

}  // namespace spdnn
