#include "inference/model/known_support.hpp"

#include <algorithm>
#include <tuple>

namespace spdnn {

namespace {

/// The options that an answer depends on. All are listed, so that a new one is not forgotten.
auto options_of_answer(const ModelEngineOptions& options) {
  [[maybe_unused]] const auto& [precision, batch, kernels_for, threads, device, host_memory, epilogues, compile_seconds,
                                profile, cancelled] = options;
  return std::tuple(precision, batch, kernels_for, threads, device, host_memory, epilogues, compile_seconds);
}

}  // namespace

const Support& KnownSupport::of(const ModelVariant& variant, const ModelEngineOptions& options) {
  const auto found = std::find_if(known_.begin(), known_.end(), [&](const Known& known) {
    return known.variant == variant.name && options_of_answer(known.options) == options_of_answer(options);
  });
  if (found != known_.end()) return found->support;
  return known_.emplace_back(Known{variant.name, options, support_of(variant, model_, options)}).support;
}

}  // namespace spdnn
