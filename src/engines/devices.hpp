#pragma once

#include <string>

#include "plan/passes/twins.hpp"
#include "spdnn/engine.hpp"

namespace spdnn {

/// Why variants of `device` cannot run here: one line that says what would help; empty where they can.
std::string why_unusable(Device device, int ordinal = 0);

/// The device that variants of `device` run on, as reports name it; all empty for the CPU.
struct DeviceNames {
  std::string name;
  std::string driver;
  std::string cuda;
};
DeviceNames device_names(Device device, int ordinal = 0);

/// Makes a device ready for its first use, for all threads, and returns the seconds that this took: on CUDA driver,
/// context, memory pool and page-locked buffers. Throws nothing: a device that cannot be used says so to its users.
double start_up(Device device, int ordinal = 0);

/// What finds twins for the planner on a device; empty for the CPU, which the planner knows itself.
planning::TwinFinder twin_finder(Device device, int ordinal = 0);

}  // namespace spdnn
