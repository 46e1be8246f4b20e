#pragma once

#include <optional>
#include <string>

#include "engines/choose.hpp"
#include "spdnn/engine.hpp"

namespace spdnn::cli {

struct EngineChoice {
  const Variant* variant = nullptr;
  std::string why;  ///< empty where the variant was named
};

/// The variant for --variant NAME|auto and --device auto|cpu|cuda. UsageError where they contradict each other.
/// `auto` looks among the variants that compute in `precision`, where one is named.
EngineChoice choose_engine(const std::string& variant, const std::string& device,
                           const std::optional<std::string>& precision, const Plan& plan, const BatchInfo& batch,
                           EngineOptions options);

/// For `option`, which asks for CUDA: UsageError in a program without CUDA, DeviceError where there is no usable
/// device.
void require_cuda(const std::string& option);

/// Whether choose_engine could choose a CUDA variant, told without touching a device. Nothing is refused here.
bool may_choose_cuda(const std::string& variant, const std::string& device);

}  // namespace spdnn::cli
