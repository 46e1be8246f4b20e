#pragma once

#include "cli/options.hpp"
#include "plan/passes/twins.hpp"

namespace spdnn::cli {

/// Where the planner looks for twins. What is asked for must be there; cuda_if_usable is the CPU where there is no
/// device.
enum class PlanDevice { cpu, cuda, cuda_if_usable };

/// --plan-device auto|cpu|cuda, `automatic` standing for auto and for no such option. UsageError for anything else.
PlanDevice plan_device(const po::variables_map& values, PlanDevice automatic);

/// For make_plan: empty for the CPU. UsageError or DeviceError where a device was asked for that cannot be used.
planning::TwinFinder finder_on(PlanDevice device);

/// What reports and `inspect` say where such a finder was used.
inline constexpr const char* kPlannedOnCuda = "twins were looked for on the CUDA device";

}  // namespace spdnn::cli
