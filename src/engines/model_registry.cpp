#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "core/text/amounts.hpp"
#include "core/types/share_of_zeros.hpp"
#include "engines/variant_lines.hpp"
#include "model/graph/node_work.hpp"
#include "spdnn/error.hpp"

#ifdef SPDNN_WITH_CUDA
#define SPDNN_CUDA_MODEL_VARIANT(name, description, ...) SPDNN_MODEL_VARIANT(name, cuda, description, __VA_ARGS__)
#else
#define SPDNN_CUDA_MODEL_VARIANT(name, description, ...)
#endif

namespace spdnn {

#define SPDNN_MODEL_VARIANT(name, device, description, ...) SPDNN_DECLARE_MODEL_VARIANT(name)
#include "engines/model_variants.def"
#undef SPDNN_MODEL_VARIANT

const std::vector<ModelVariant>& model_variants() {
  static const std::vector<ModelVariant> all = {
#define SPDNN_MODEL_VARIANT SPDNN_LIST_VARIANT
#include "engines/model_variants.def"
#undef SPDNN_MODEL_VARIANT
  };
  return all;
}

const ModelVariant& find_model_variant(std::string_view name) {
  std::string message = fmt::format("'{}' is not a variant for models; expected one of", name);
  for (const ModelVariant& variant : model_variants()) {
    if (variant.name == name) return variant;
    message += " " + std::string(variant.name);
  }
  throw UsageError(message);
}

Support support_of(const ModelVariant& variant, const Model& model, const ModelEngineOptions& options) {
  const auto& precisions = variant.precisions;
  if (std::find(precisions.begin(), precisions.end(), options.precision) == precisions.end())
    return {.why_not = fmt::format("{} does not compute in {}", variant.name, to_string(options.precision))};
  if (model.inputs.size() != 1)
    return {.why_not = fmt::format("the model has {} inputs; models of one input can be run", model.inputs.size())};
  if (model.outputs.empty()) return {.why_not = "the model has no output"};
  if (options.batch == 0) return {.why_not = "a batch of no images"};
  return variant.support(model, options);
}

std::unique_ptr<ModelEngine> make_engine(const ModelVariant& variant, std::shared_ptr<const Model> model,
                                         const ModelEngineOptions& options) {
  const Support support = support_of(variant, *model, options);
  if (!support.takes()) throw UsageError(support.why_not);
  return variant.make(std::move(model), options, support);
}

void add_zeros_remark(const Model& model, const std::vector<Index>& without_zeros, Support& support) {
  const std::vector<NodeWork> work = work_of(model);
  const ModelWork sum = sum_of(work);
  const Offset zeros = sum.weights - sum.nonzeros;
  if (zeros == 0) return;
  Offset left_out = 0;
  for (const Index node : without_zeros) left_out += work[node].weights - work[node].nonzeros;
  std::string text = fmt::format("{} of {} are zero ({:.2f} %); ", zeros, counted(sum.weights, "weight", "weights"),
                                 100 * share_of_zeros(sum.weights, sum.nonzeros));
  if (left_out == 0)
    text += "none is skipped";
  else if (left_out == zeros)
    text += "all are skipped";
  else
    text += fmt::format("{} skipped, in {}", counted(left_out, "is", "are"),
                        counted(without_zeros.size(), "node", "nodes"));
  support.remarks.push_back(std::move(text));
}

Index images_of(const Model& model, const Tensor& input, Index batch) {
  const Shape& shape = model.values[model.inputs.front()].shape;
  const bool dynamic = !shape.empty() && shape.front() == kBatchExtent;
  const Extent images = dynamic && !input.shape.empty() ? input.shape.front() : 1;
  if (images < 1 || (dynamic && images > Extent{batch}) || input.shape != with_batch(shape, images))
    throw UsageError(fmt::format("images of shape {}, expected {} in batches of 1 to {}", shape_text(input.shape),
                                 shape_text(shape), batch));
  return static_cast<Index>(images);
}

}  // namespace spdnn
