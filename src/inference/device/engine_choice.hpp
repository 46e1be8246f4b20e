#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engines/choose.hpp"
#include "spdnn/engine.hpp"

namespace spdnn {

/// What a specification says about the engine; see InferenceSpec.
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

/// Whether choose_engine could choose a CUDA variant, without touching a device. Nothing is refused here.
bool may_choose_cuda(const EngineRequest& request);

}  // namespace spdnn
