#include "inference/model/choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/text/bytes_text.hpp"
#include "core/text/counted.hpp"
#include "engines/devices.hpp"
#include "inference/device/engine_choice.hpp"
#include "inference/model/run.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

namespace {

constexpr Index kMostImages = 64;

bool model_computes_in(const ModelVariant& variant, Precision precision) {
  return std::find(variant.precisions.begin(), variant.precisions.end(), precision) != variant.precisions.end();
}

/// A device that was asked for must be there; otherwise what is absent is left out.
std::vector<const ModelVariant*> usable_model_variants(const EngineSettings& settings) {
  if (settings.device == Device::cuda) require_cuda("device");
  std::vector<const ModelVariant*> usable;
  for (const ModelVariant& variant : model_variants()) {
    if (variant.device != settings.device.value_or(variant.device)) continue;
    if (settings.precision && !model_computes_in(variant, *settings.precision)) continue;
    if (variant.device == Device::cuda && !why_unusable(Device::cuda).empty()) continue;
    usable.push_back(&variant);
  }
  return usable;
}

/// Why variants do not take a model. What several of them say is said once.
class Refusals {
 public:
  void add(const std::string& name, std::string why) {
    if (why.starts_with(name + ": ")) why.erase(0, name.size() + 2);
    const auto same = std::find_if(all_.begin(), all_.end(), [&](const auto& one) { return one.second == why; });
    if (same != all_.end())
      same->first += ", " + name;
    else
      all_.emplace_back(name, std::move(why));
  }
  std::string text() const {
    std::string text;
    for (const auto& [names, why] : all_) text += (text.empty() ? "" : "; ") + names + ": " + why;
    return text;
  }

 private:
  std::vector<std::pair<std::string, std::string>> all_;  ///< names, and why
};

ModelEngineChoice automatic(const EngineSettings& settings, const Model& model, ModelEngineOptions options) {
  const std::vector<const ModelVariant*> usable = usable_model_variants(settings);
  if (usable.empty())
    throw UsageError(settings.precision ? "precision" : "device",
                     fmt::format("no variant for models {} '{}'", settings.precision ? "computes in" : "runs on",
                                 settings.precision ? to_string(*settings.precision) : to_string(*settings.device)));
  ModelEngineChoice last_resort;
  Refusals refusals;
  for (const ModelVariant* variant : usable) {
    options.precision = settings.precision.value_or(variant->precisions.front());
    Support support = support_of(*variant, model, options);
    if (!support.takes()) {  // perhaps a smaller batch fits the memory
      ModelEngineOptions smallest = options;
      smallest.batch = 1;
      support = support_of(*variant, model, smallest);
    }
    if (support.takes() && support.preference == Preference::preferred)
      return {variant, options.precision,
              fmt::format("the first fast engine that takes the model ({})", variant->description)};
    if (support.takes() && last_resort.variant == nullptr) last_resort = {variant, options.precision, {}};
    if (!support.takes()) refusals.add(std::string(variant->name), support.why_not);
  }
  const std::string why_not = refusals.text();
  if (last_resort.variant == nullptr) throw UsageError(why_not);
  last_resort.why = "no fast engine takes the model" + (why_not.empty() ? "" : ": " + why_not);
  return last_resort;
}

}  // namespace

ModelEngineChoice choose_model_engine(const EngineSettings& settings, const Model& model,
                                      const ModelEngineOptions& options) {
  if (settings.variant.empty()) return automatic(settings, model, options);
  const ModelVariant& named = find_model_variant(settings.variant);
  if (settings.device && named.device != *settings.device)
    throw UsageError("variant", fmt::format("{} does not run on {}", named.name, to_string(*settings.device)));
  return {&named, precision_for(named.name, named.precisions, settings.precision), {}};
}

Index wanted_batch(const EngineSettings& settings, const Model& model, Index images) {
  if (const auto fixed = fixed_batch(model)) return std::max<Index>(*fixed, 1);
  return std::min(settings.batch != 0 ? settings.batch : kMostImages, images);
}

Index model_batch(const EngineSettings& settings, const ModelVariant& variant, const Model& model, Index images,
                  const ModelEngineOptions& options) {
  const std::size_t budget = memory_budget(variant.device, {.host_memory = options.host_memory});
  ModelEngineOptions asked = options;
  asked.host_memory = budget;
  const auto bytes = [&](Index batch) {
    asked.batch = batch;
    const Support support = support_of(variant, model, asked);
    // A variant that says so itself wants more memory than there is: with a batch of one, everything else is clear.
    return support.takes() ? support.working_bytes : budget + 1;
  };
  asked.batch = 1;
  asked.host_memory = 0;
  if (const Support support = support_of(variant, model, asked); !support.takes()) throw UsageError(support.why_not);
  asked.host_memory = budget;
  const std::optional<Index> fixed = fixed_batch(model);
  if (fixed) {
    if (settings.batch != 0 && settings.batch != *fixed)
      throw UsageError("batch", fmt::format("the model takes {} at a time; another shape of its input, with N "
                                            "in the place of {}, may be given",
                                            counted(*fixed, "image", "images"), *fixed));
    if (images % *fixed != 0)
      throw UsageError("shape",
                       fmt::format("the model takes {} images at a time, of which {} are no multiple; N in the place "
                                   "of {} makes it take any number, if its nodes allow that",
                                   *fixed, images, *fixed));
  }
  Index batch = wanted_batch(settings, model, images);
  const bool may_shrink = !fixed && settings.batch == 0;
  while (may_shrink && batch > 1 && bytes(batch) > budget) batch /= 2;
  if (const std::size_t needed = bytes(batch); needed > budget)
    throw DeviceError("host_memory", fmt::format("{} needs more for {} at a time than the {} that may be taken",
                                                 variant.name, counted(batch, "image", "images"), bytes_text(budget)));
  return batch;
}

}  // namespace spdnn
