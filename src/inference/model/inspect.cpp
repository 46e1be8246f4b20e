#include "inference/model/inspect.hpp"

#include <fmt/format.h>

#include <utility>

#include "engines/choose.hpp"
#include "engines/devices.hpp"
#include "inference/model/choice.hpp"
#include "inference/model/runnable.hpp"
#include "model/rewrites/rewrite.hpp"

namespace spdnn {

namespace {

/// Predicts the variant that `infer` would choose for the model with these settings, or the reason why it would refuse
/// the model. UsageError if the model's batch size is fixed to another number.
void predict_choice(ModelView& view, KnownSupport& known, const EngineSettings& settings,
                    const std::function<std::string(const Error&)>& text_of) {
  ModelEngineOptions options{.batch = view.batch};
  const ModelEngineChoice choice = find_model_engine(settings, known, options);
  view.why = choice.why;
  if (choice.variant == nullptr) return;
  options.precision = choice.precision;
  const ModelBatch batch = find_model_batch(settings, *choice.variant, known, view.batch, options);
  if (batch.too_large.empty())
    view.would_run = fmt::format("{} {}", choice.variant->name, to_string(choice.precision));
  else
    view.why = text_of(DeviceError("host_memory", batch.too_large));
}

Support support_as_asked(const ModelVariant& variant, KnownSupport& known, const EngineSettings& settings,
                         Index batch) {
  const Precision precision = settings.precision.value_or(variant.precisions.front());
  if (!computes_in(variant, precision))
    return {.why_not = fmt::format("it does not compute in {}", to_string(precision))};
  if (std::string why_not = why_unusable(variant.device); !why_not.empty()) return {.why_not = std::move(why_not)};
  return known.of(variant, {.precision = precision, .batch = batch});
}

}  // namespace

ModelView inspected_model(const std::string& name, const Model& model, const EngineSettings& settings,
                          const std::function<std::string(const Error&)>& text_of) {
  ModelView view = view_of(name, model);
  view.why = why_not_runnable(model);
  const auto batch = [&](Index usual) { return settings.batch != 0 ? settings.batch : usual; };
  view.batch = batch(1);
  Model rewritten = model;
  KnownSupport known(rewritten);
  if (view.why.empty()) {
    view.batch = batch(batch_of(model).value_or(1));
    rewrite(rewritten, kAllRewrites);
    predict_choice(view, known, settings, text_of);
  }
  for (const ModelVariant& variant : model_variants()) {
    const Support support = support_as_asked(variant, known, settings, view.batch);
    view.answers.push_back({std::string(variant.name), std::string(variant.description), support.why_not,
                            support.working_bytes, support.remarks, support.program});
  }
  return view;
}

}  // namespace spdnn
