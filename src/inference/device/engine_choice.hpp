#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engines/choose.hpp"
#include "engines/devices.hpp"
#include "engines/engine.hpp"
#include "spdnn/error.hpp"
#include "spdnn/run_settings.hpp"

namespace spdnn {

/// The requests of a specification about the engine; see EngineSettings.
struct EngineRequest {
  std::string variant;                      ///< empty: choose
  std::optional<Device> device;             ///< empty: any usable device
  std::optional<Precision> precision = {};  ///< empty: the variant's first
  int cuda_device = 0;
  std::string network = {};  ///< the name of the network in errors: its path, if it has one
};

/// The request of these settings.
EngineRequest engine_request(const EngineSettings& settings);

/// The chosen engine: a Variant for plans, a ModelVariant for models.
template <class Kind>
struct ChosenEngine {
  const Kind* variant = nullptr;
  Precision precision = Precision::fp32;
  std::string why;  ///< empty if the variant was given by name
};
using EngineChoice = ChosenEngine<Variant>;

/// Chooses the variant and its precision by each variant's support for these options and the requested precision.
/// UsageError if variant, device and precision contradict one another, or if the cap or a bias is 0 or infinite in the
/// precision.
EngineChoice choose_engine(const EngineRequest& request, const Plan& plan, const BatchInfo& batch,
                           const EngineOptions& options);

/// The precision of a run by a variant that computes in `precisions`: the first, or the requested one. UsageError if
/// that is not among them.
Precision precision_for(std::string_view variant, const std::vector<Precision>& precisions,
                        const std::optional<Precision>& asked);

/// For a `field` that requests CUDA: Unsupported in a build without CUDA, DeviceError without a usable device.
void require_cuda(const char* field, int cuda_device = 0);

/// The variant named by the request, in its precision.
template <class Kind>
ChosenEngine<Kind> named_engine(const EngineRequest& request, const Kind& named) {
  if (request.device && named.device != *request.device)
    throw UsageError("variant",
                     std::string(named.name) + " does not run on " + std::string(to_string(*request.device)));
  return {&named, precision_for(named.name, named.precisions, request.precision), {}};
}

/// The variants to choose from. A requested device must exist; without a request, variants of absent devices are
/// excluded. Variants without the requested precision are excluded too, unless none would remain: then precision_for()
/// refuses.
template <class Kind>
std::vector<const Kind*> usable_variants(const EngineRequest& request, const std::vector<Kind>& all) {
  if (request.device == Device::cuda) require_cuda("device", request.cuda_device);
  std::vector<const Kind*> usable;
  std::optional<bool> with_cuda;  // the query starts the driver
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

/// Whether one of the variants that may be chosen runs on CUDA, without touching a device. Never throws for a request.
template <class Kind>
bool may_choose_cuda(const EngineRequest& request, const std::vector<Kind>& all) {
  return request.device != Device::cpu && std::any_of(all.begin(), all.end(), [&](const Kind& v) {
           return v.device == Device::cuda && (request.variant.empty() || request.variant == v.name);
         });
}

}  // namespace spdnn
