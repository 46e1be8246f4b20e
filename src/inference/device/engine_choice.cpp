#include "inference/device/engine_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/system/build_info.hpp"

namespace spdnn {

namespace {

void require_in_fp32(double value, const std::string& what) {
  const bool is_zero = value != 0 && std::abs(value) < 1 && static_cast<float>(value) == 0;
  const bool is_beyond = std::abs(value) > std::numeric_limits<float>::max();
  if (is_zero || is_beyond)
    throw UsageError("precision",
                     fmt::format("{} of {:g} is {} fp32; expected fp64", what, value, is_zero ? "0 in" : "beyond"));
}

/// Engines that compute in fp32, whatever they store, round biases and cap to it. One that becomes 0 or infinite would
/// make other categories. Of streamed layers the least and the greatest bias are known.
void require_in_precision(const Plan& plan, Precision precision, const std::string& network) {
  if (precision == Precision::fp64) return;
  const std::string where = network.empty() ? "" : network + ": ";
  if (plan.cap) require_in_fp32(*plan.cap, where + "a cap");
  for (Index k = 0; k < plan.depth(); ++k) {
    const auto require = [&](double bias) { require_in_fp32(bias, fmt::format("{}layer {}: a bias", where, k + 1)); };
    const auto [least, most] = plan.bias_range(k);
    require(least);
    require(most);
    if (plan.streamed) continue;
    for (const double bias : plan.layers[k].bias.values) require(bias);
  }
}

}  // namespace

EngineRequest engine_request(const EngineSettings& settings) {
  return {settings.variant, settings.device, settings.precision, settings.cuda_device};
}

Precision precision_for(std::string_view variant, const std::vector<Precision>& precisions,
                        const std::optional<Precision>& asked) {
  if (!asked) return precisions.front();
  if (std::find(precisions.begin(), precisions.end(), *asked) != precisions.end()) return *asked;
  std::string known;
  for (const Precision one : precisions) known += (known.empty() ? "" : " or ") + std::string(to_string(one));
  throw UsageError("precision",
                   fmt::format("{} does not compute in '{}', but in {}", variant, to_string(*asked), known));
}

EngineChoice choose_engine(const EngineRequest& request, const Plan& plan, const BatchInfo& batch,
                           const EngineOptions& options) {
  EngineChoice choice;
  if (request.variant.empty()) {
    EngineOptions asked = options;
    asked.precision = request.precision.value_or(Precision::fp32);
    const VariantChoice first = choose_variant(plan, batch, asked, usable_variants(request, variants()));
    choice = {first.variant, precision_for(first.variant->name, first.variant->precisions, request.precision),
              first.why};
  } else {
    choice = named_engine(request, find_variant(request.variant));
  }
  require_in_precision(plan, choice.precision, request.network);
  return choice;
}

void require_cuda(const char* field, int cuda_device) {
  const std::string why_not = why_unusable(Device::cuda, cuda_device);
  if (!build_info().cuda) throw Unsupported(field, why_not);
  if (!why_not.empty()) throw DeviceError(field, why_not);
}

}  // namespace spdnn
