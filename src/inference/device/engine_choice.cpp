#include "inference/device/engine_choice.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/system/build_info.hpp"
#include "engines/devices.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

namespace {

bool computes_in(const Variant& variant, Precision precision) {
  return std::find(variant.precisions.begin(), variant.precisions.end(), precision) != variant.precisions.end();
}

/// A device that was asked for must be there; otherwise what is absent is left out.
std::vector<Variant> usable_variants(const EngineRequest& request) {
  if (request.device == Device::cuda) require_cuda("device", request.cuda_device);
  const bool with_cuda =  // asking starts the driver up
      request.device != Device::cpu && why_unusable(Device::cuda, request.cuda_device).empty();
  std::vector<Variant> usable;
  for (const Variant& variant : variants())
    if (variant.device == request.device.value_or(variant.device) && (variant.device == Device::cpu || with_cuda))
      usable.push_back(variant);
  const auto lacks = [&](const Variant& variant) {
    return request.precision && !computes_in(variant, *request.precision);
  };
  if (!std::all_of(usable.begin(), usable.end(), lacks))
    std::erase_if(usable, lacks);  // otherwise precision_for() refuses
  return usable;
}

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

EngineChoice chosen(const EngineRequest& request, const Plan& plan, const BatchInfo& batch,
                    const EngineOptions& options) {
  if (request.variant.empty()) {
    EngineOptions asked = options;
    asked.precision = request.precision.value_or(Precision::fp32);
    const VariantChoice choice = choose_variant(plan, batch, asked, usable_variants(request));
    const Variant& chosen = find_variant(choice.name);
    return {&chosen, precision_for(chosen.name, chosen.precisions, request.precision), choice.why};
  }
  const Variant& named = find_variant(request.variant);
  if (request.device && named.device != *request.device)
    throw UsageError("variant", fmt::format("{} does not run on {}", named.name, to_string(*request.device)));
  return {&named, precision_for(named.name, named.precisions, request.precision), {}};
}

}  // namespace

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
  EngineChoice choice = chosen(request, plan, batch, options);
  require_in_precision(plan, choice.precision, request.network);
  return choice;
}

void require_cuda(const char* field, int cuda_device) {
  const std::string why_not = why_unusable(Device::cuda, cuda_device);
  if (!build_info().cuda) throw Unsupported(field, why_not);
  if (!why_not.empty()) throw DeviceError(field, why_not);
}

bool may_choose_cuda(const EngineRequest& request) {
  const auto& all = variants();
  return request.device != Device::cpu && std::any_of(all.begin(), all.end(), [&](const Variant& v) {
           return v.device == Device::cuda && (request.variant.empty() || request.variant == v.name);
         });
}

}  // namespace spdnn
