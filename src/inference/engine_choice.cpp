#include "inference/engine_choice.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/build_info.hpp"
#include "engines/choose.hpp"
#include "engines/devices.hpp"
#include "spdnn/error.hpp"

namespace spdnn::cli {

namespace {

void check_device_name(const std::string& device) {
  if (device != "auto" && device != "cpu" && device != "cuda")
    throw UsageError(fmt::format("--device: '{}' is neither auto, cpu nor cuda", device));
}

/// A device that was asked for must be there; otherwise what is absent is left out.
std::vector<Variant> usable_variants(const std::string& device, const std::optional<std::string>& precision) {
  if (device == "cuda") require_cuda("--device cuda");
  const bool with_cuda = device != "cpu" && why_unusable(Device::cuda).empty();  // asking starts the driver up
  std::vector<Variant> usable;
  for (const Variant& variant : variants())
    if ((device == "auto" || to_string(variant.device) == device) && (variant.device == Device::cpu || with_cuda))
      usable.push_back(variant);
  const auto lacks = [&](const Variant& variant) {
    return precision && std::none_of(variant.precisions.begin(), variant.precisions.end(),
                                     [&](Precision one) { return to_string(one) == *precision; });
  };
  if (!std::all_of(usable.begin(), usable.end(), lacks)) std::erase_if(usable, lacks);  // else an error to come
  return usable;
}

}  // namespace

EngineChoice choose_engine(const std::string& variant, const std::string& device,
                           const std::optional<std::string>& precision, const Plan& plan, const BatchInfo& batch,
                           EngineOptions options) {
  check_device_name(device);
  if (variant == "auto") {
    for (const Precision one : {Precision::fp16, Precision::fp32, Precision::fp64})
      if (precision && to_string(one) == *precision) options.precision = one;
    const VariantChoice choice = choose_variant(plan, batch, options, usable_variants(device, precision));
    return {&find_variant(choice.name), choice.why};
  }
  const Variant& named = find_variant(variant);
  if (device != "auto" && to_string(named.device) != device)
    throw UsageError(fmt::format("--variant {} does not run on --device {}", variant, device));
  return {&named, {}};
}

void require_cuda(const std::string& option) {
  const std::string why_not = why_unusable(Device::cuda);
  if (!build_info().cuda) throw UsageError(option + ": " + why_not);
  if (!why_not.empty()) throw DeviceError(option + ": " + why_not);
}

bool may_choose_cuda(const std::string& variant, const std::string& device) {
  const auto& all = variants();
  return device != "cpu" && std::any_of(all.begin(), all.end(), [&](const Variant& v) {
           return v.device == Device::cuda && (variant == "auto" || variant == v.name);
         });
}

}  // namespace spdnn::cli
