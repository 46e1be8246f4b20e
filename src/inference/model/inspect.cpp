#include "inference/model/inspect.hpp"

#include <fmt/format.h>

#include "engines/devices.hpp"
#include "inference/model/choice.hpp"
#include "inference/model/runnable.hpp"
#include "model/rewrites/rewrite.hpp"

namespace spdnn {

namespace {

/// Predicts the variant that `infer` would choose for the model and this batch size, or the reason why it
/// would refuse the model. UsageError if the model's batch size is fixed to another number.
void predict_choice(ModelView& view, KnownSupport& known, std::optional<Index> asked,
                    const std::function<std::string(const Error&)>& text_of) {
  EngineSettings settings;
  settings.batch = asked.value_or(0);
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

}  // namespace

ModelView inspected_model(const std::string& name, const Model& model, std::optional<Index> asked,
                          const std::function<std::string(const Error&)>& text_of) {
  ModelView view = view_of(name, model);
  view.why = why_not_runnable(model);
  view.batch = asked.value_or(1);
  Model rewritten = model;
  KnownSupport known(rewritten);
  if (view.why.empty()) {
    view.batch = asked.value_or(batch_of(model).value_or(1));
    rewrite(rewritten, kAllRewrites);
    predict_choice(view, known, asked, text_of);
  }
  for (const ModelVariant& variant : model_variants()) {
    Support support;
    support.why_not = why_unusable(variant.device);
    if (support.takes()) support = known.of(variant, {.precision = variant.precisions.front(), .batch = view.batch});
    view.answers.push_back({std::string(variant.name), std::string(variant.description), support.why_not,
                            support.working_bytes, support.remarks, support.program});
  }
  return view;
}

}  // namespace spdnn
