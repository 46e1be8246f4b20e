#include "inference/model_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/bytes_text.hpp"
#include "core/counted.hpp"
#include "engines/devices.hpp"
#include "inference/engine_choice.hpp"
#include "inference/model_run.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

namespace {

constexpr Index kMostImages = 64;

bool model_computes_in(const ModelVariant& variant, Precision precision) {
  return std::find(variant.precisions.begin(), variant.precisions.end(), precision) != variant.precisions.end();
}

/// A device that was asked for must be there; otherwise what is absent is left out.
std::vector<const ModelVariant*> usable_model_variants(const ModelSpec& spec) {
  if (spec.device == Device::cuda) require_cuda("device");
  std::vector<const ModelVariant*> usable;
  for (const ModelVariant& variant : model_variants()) {
    if (variant.device != spec.device.value_or(variant.device)) continue;
    if (spec.precision && !model_computes_in(variant, *spec.precision)) continue;
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

ModelEngineChoice automatic(const ModelSpec& spec, const Model& model, ModelEngineOptions options) {
  const std::vector<const ModelVariant*> usable = usable_model_variants(spec);
  if (usable.empty())
    throw UsageError(spec.precision ? "precision" : "device",
                     fmt::format("no variant for models {} '{}'", spec.precision ? "computes in" : "runs on",
                                 spec.precision ? to_string(*spec.precision) : to_string(*spec.device)));
  ModelEngineChoice last_resort;
  Refusals refusals;
  for (const ModelVariant* variant : usable) {
    options.precision = spec.precision.value_or(variant->precisions.front());
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

ModelEngineChoice choose_model_engine(const ModelSpec& spec, const Model& model, const ModelEngineOptions& options) {
  if (spec.variant.empty()) return automatic(spec, model, options);
  const ModelVariant& named = find_model_variant(spec.variant);
  if (spec.device && named.device != *spec.device)
    throw UsageError("variant", fmt::format("{} does not run on {}", named.name, to_string(*spec.device)));
  return {&named, precision_for(named.name, named.precisions, spec.precision), {}};
}

Index wanted_batch(const ModelSpec& spec, const Model& model, Index images) {
  if (const auto fixed = fixed_batch(model)) return std::max<Index>(*fixed, 1);
  return std::min(spec.batch != 0 ? spec.batch : kMostImages, images);
}

Index model_batch(const ModelSpec& spec, const ModelVariant& variant, const Model& model, Index images,
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
    if (spec.batch != 0 && spec.batch != *fixed)
      throw UsageError("batch", fmt::format("the model takes {} at a time; another shape of its input, with N "
                                            "in the place of {}, may be given",
                                            counted(*fixed, "image", "images"), *fixed));
    if (images % *fixed != 0)
      throw UsageError("shape",
                       fmt::format("the model takes {} images at a time, of which {} are no multiple; N in the place "
                                   "of {} makes it take any number, if its nodes allow that",
                                   *fixed, images, *fixed));
  }
  Index batch = wanted_batch(spec, model, images);
  const bool may_shrink = !fixed && spec.batch == 0;
  while (may_shrink && batch > 1 && bytes(batch) > budget) batch /= 2;
  if (const std::size_t needed = bytes(batch); needed > budget)
    throw DeviceError("host_memory", fmt::format("{} needs more for {} at a time than the {} that may be taken",
                                                 variant.name, counted(batch, "image", "images"), bytes_text(budget)));
  return batch;
}

}  // namespace spdnn
