#include "inference/plan_device.hpp"

#include <fmt/format.h>

#include "engines/devices.hpp"
#include "inference/engine_choice.hpp"
#include "spdnn/error.hpp"

namespace spdnn::cli {

PlanDevice plan_device(const po::variables_map& values, PlanDevice automatic) {
  const std::string text = text_of(values, "plan-device").value_or("auto");
  if (text == "auto") return automatic;
  if (text == "cpu") return PlanDevice::cpu;
  if (text == "cuda") return PlanDevice::cuda;
  throw UsageError(fmt::format("--plan-device: '{}' is neither auto, cpu nor cuda", text));
}

planning::TwinFinder finder_on(PlanDevice device) {
  if (device == PlanDevice::cuda) require_cuda("--plan-device cuda");
  const bool on_cuda = device != PlanDevice::cpu && why_unusable(Device::cuda).empty();
  return twin_finder(on_cuda ? Device::cuda : Device::cpu);
}

}  // namespace spdnn::cli
