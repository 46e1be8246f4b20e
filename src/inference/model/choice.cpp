#include "inference/model/choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "core/text/amounts.hpp"
#include "inference/model/run.hpp"
#include "inference/run/largest_batch.hpp"
#include "program/stored.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

namespace {

/// A batch has 64 images, or more small ones: threads wait for one another at its end, which on a busy machine costs a
/// turn of the scheduler.
constexpr Index kLeastImages = 64;
constexpr Index kMostImages = 1024;
constexpr Offset kBytesOfImages = Offset{1} << 20;
constexpr Offset kBytesOfValues = Offset{64} << 20;  ///< of the output of a node

Index usual_batch(const Model& model) {
  Index images = kMostImages;
  const auto keep_within = [&](Offset most, ValueId value) {
    const Offset each = elements(with_batch(model.values[value].shape, 1)).value_or(most) * Offset{sizeof(float)};
    images = std::min(images, narrow<Index>(most / std::max<Offset>(each, 1)));
  };
  keep_within(kBytesOfImages, model.inputs.front());
  for (const Node& node : model.nodes) keep_within(kBytesOfValues, node.output);
  return std::max(images, kLeastImages);
}

/// The variant's support for the wanted batch, or if that is too large, for one image.
const Support& support_of_some(const ModelVariant& variant, KnownSupport& known, ModelEngineOptions options) {
  const Support& support = known.of(variant, options);
  if (!support.too_large || options.batch == 1) return support;
  options.batch = 1;
  return known.of(variant, options);
}

/// Bytes of an engine for batches of this size, whether or not they are available.
std::size_t bytes_of_batch(const ModelVariant& variant, KnownSupport& known, ModelEngineOptions options, Index batch) {
  options.batch = batch;
  const Support& support = known.of(variant, options);
  if (!support.takes() && !support.too_large) throw UsageError(support.why_not);
  return support.working_bytes;
}

/// UsageError if the batch or the number of images does not fit a model with a fixed batch.
void require_fixed(Index fixed, Index asked, Index images) {
  if (asked != 0 && asked != fixed)
    throw UsageError("batch", fmt::format("the model takes {} at a time; --shape with N in place of {} may change that",
                                          counted(fixed, "image", "images"), fixed));
  if (images % fixed != 0)
    throw UsageError("shape",
                     fmt::format("the model takes {} images at a time, and {} is not a multiple of that; N in place "
                                 "of {} makes it accept any number, if its nodes allow that",
                                 fixed, images, fixed));
}

}  // namespace

ModelEngineChoice find_model_engine(const EngineSettings& settings, KnownSupport& known,
                                    const ModelEngineOptions& options) {
  EngineRequest request = engine_request(settings);
  request.cuda_device = options.device;
  if (!request.variant.empty()) return named_engine(request, find_model_variant(request.variant));
  const std::vector<const ModelVariant*> usable = usable_variants(request, model_variants());
  if (usable.empty())
    throw UsageError("device", fmt::format("no variant for models runs on '{}'", to_string(request.device.value())));
  const auto first = first_that_takes(usable, [&](const ModelVariant& variant) {
    ModelEngineOptions asked = options;
    asked.precision = precision_near(variant, request.precision.value_or(variant.precisions.front()));
    return support_of_some(variant, known, asked);
  });
  const std::string why_not = first.refusals.text();
  if (first.variant == nullptr) return {nullptr, options.precision, why_not};
  const Precision precision = precision_for(first.variant->name, first.variant->precisions, request.precision);
  if (first.is_fast)
    return {first.variant, precision,
            fmt::format("the first fast engine that supports the model ({})", first.variant->description)};
  return {first.variant, precision, "no fast engine supports the model" + (why_not.empty() ? "" : ": " + why_not)};
}

ModelEngineChoice choose_model_engine(const EngineSettings& settings, KnownSupport& known,
                                      const ModelEngineOptions& options) {
  ModelEngineChoice choice = find_model_engine(settings, known, options);
  if (choice.variant == nullptr) throw UsageError(choice.why);
  return choice;
}

std::optional<Index> batch_of(const Model& model) {
  if (const auto fixed = fixed_batch(model)) return std::max<Index>(*fixed, 1);
  if (!model.program) return std::nullopt;
  const Index images = program::StoredReader(*model.program).batch();
  return images > 0 ? std::optional(images) : std::nullopt;
}

Index wanted_batch(const EngineSettings& settings, const Model& model, Index images) {
  if (const auto fixed = fixed_batch(model)) return std::max<Index>(*fixed, 1);
  return std::min(settings.batch != 0 ? settings.batch : batch_of(model).value_or(usual_batch(model)), images);
}

ModelBatch find_model_batch(const EngineSettings& settings, const ModelVariant& variant, KnownSupport& known,
                            Index images, const ModelEngineOptions& options) {
  const std::size_t budget =
      memory_budget(variant.device, {.device = options.device, .host_memory = options.host_memory});
  const auto bytes = [&](Index batch) { return bytes_of_batch(variant, known, options, batch); };
  const std::optional<Index> fixed = fixed_batch(known.model());
  const Index wanted = wanted_batch(settings, known.model(), images);
  const std::size_t needed = bytes(wanted);
  if (fixed) require_fixed(*fixed, settings.batch, images);
  if (needed <= budget) return {wanted};
  const bool may_shrink = !fixed && settings.batch == 0;
  if (const Index fitting = may_shrink ? largest_batch(wanted, images, budget, bytes) : 0; fitting > 0)
    return {fitting};
  const Index least = may_shrink ? 1 : wanted;
  return {least, fmt::format("{} needs {} for {} at a time; {} are available", variant.name, bytes_text(bytes(least)),
                             counted(least, "image", "images"), bytes_text(budget))};
}

Index model_batch(const EngineSettings& settings, const ModelVariant& variant, KnownSupport& known, Index images,
                  const ModelEngineOptions& options) {
  const ModelBatch batch = find_model_batch(settings, variant, known, images, options);
  if (!batch.too_large.empty()) throw DeviceError("host_memory", batch.too_large);
  return batch.images;
}

}  // namespace spdnn
