#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engines/choose.hpp"
#include "engines/devices.hpp"
#include "engines/engine.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

/// What a specification says about the engine; see EngineSettings.
struct EngineRequest {
  std::string variant;                      ///< empty: choose
  std::optional<Device> device;             ///< empty: any that can be used
  std::optional<Precision> precision = {};  ///< empty: the variant's first
  int cuda_device = 0;
  std::string network = {};  ///< what errors call the network: its path, if it has one
};

/// The engine that runs: a Variant for plans, a ModelVariant for models.
template <class Kind>
struct ChosenEngine {
  const Kind* variant = nullptr;
  Precision precision = Precision::fp32;
  std::string why;  ///< empty where the variant was named
};
using EngineChoice = ChosenEngine<Variant>;

/// The variant and its precision; each variant is asked with these options and the precision requested. UsageError
/// where variant, device and precision contradict one another, or where the cap or a bias is 0 or infinite in the
/// precision.
EngineChoice choose_engine(const EngineRequest& request, const Plan& plan, const BatchInfo& batch,
                           const EngineOptions& options);

/// The precision in which a variant runs that computes in these: the first, or the one asked for. UsageError where that
/// is none of them.
Precision precision_for(std::string_view variant, const std::vector<Precision>& precisions,
                        const std::optional<Precision>& asked);

/// For a `field` that asks for CUDA: Unsupported in a build without CUDA, DeviceError where there is no usable device.
void require_cuda(const char* field, int cuda_device = 0);

/// The variant that the request names, in its precision.
template <class Kind>
ChosenEngine<Kind> named_engine(const EngineRequest& request, const Kind& named) {
  if (request.device && named.device != *request.device)
    throw UsageError("variant",
                     std::string(named.name) + " does not run on " + std::string(to_string(*request.device)));
  return {&named, precision_for(named.name, named.precisions, request.precision), {}};
}

/// Variants to choose from. A device that was asked for must be there; otherwise what is absent is left out. So is what
/// does not compute in the precision, where something does: otherwise precision_for() refuses.
template <class Kind>
std::vector<const Kind*> usable_variants(const EngineRequest& request, const std::vector<Kind>& all) {
  if (request.device == Device::cuda) require_cuda("device", request.cuda_device);
  std::vector<const Kind*> usable;
  std::optional<bool> with_cuda;  // asking starts the driver up
  for (const Kind& variant : all) {
    if (variant.device != request.device.value_or(variant.device)) continue;
    if (variant.device == Device::cuda && !with_cuda)
      with_cuda = why_unusable(Device::cuda, request.cuda_device).empty();
    if (variant.device == Device::cpu || *with_cuda) usable.push_back(&variant);
  }
  const auto lacks = [&](const Kind* variant) {
    return request.precision && !computes_in(*variant, *request.precision);
  };
  if (!std::all_of(usable.begin(), usable.end(), lacks)) std::erase_if(usable, lacks);
  return usable;
}

/// Whether one of the variants that may be chosen runs on CUDA, without touching a device. Nothing is refused here.
template <class Kind>
bool may_choose_cuda(const EngineRequest& request, const std::vector<Kind>& all) {
  return request.device != Device::cpu && std::any_of(all.begin(), all.end(), [&](const Kind& v) {
           return v.device == Device::cuda && (request.variant.empty() || request.variant == v.name);
         });
}

}  // namespace spdnn
