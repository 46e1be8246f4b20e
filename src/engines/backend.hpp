#pragma once

#include <cstddef>
#include <string>

#include "engines/engine.hpp"
#include "plan/passes/twins.hpp"

namespace spdnn {

/// A device as reports name it; all empty for the CPU.
struct DeviceNames {
  std::string name;
  std::string driver;
  std::string cuda;
  std::string id;  ///< the same for all processes that use this device, and for no other device
};

/// Queries about one kind of device, for all variants on it; the program calls them through engines/devices.hpp. The
/// defaults are those of a device that is absent, or that needs no start and no waiting.
struct Backend {
  int (*count)() = [] { return 0; };
  std::string (*why_unusable)(int ordinal) = [](int) { return std::string(); };
  DeviceNames (*names)(int ordinal) = [](int) { return DeviceNames{}; };
  void (*start_up)(int ordinal) = [](int) {};
  void (*wait)(int ordinal) = [](int) {};
  planning::TwinFinder (*twin_finder)(int ordinal) = [](int) { return planning::TwinFinder{}; };
  std::size_t (*memory_budget)(const EngineOptions& options) = [](const EngineOptions&) { return std::size_t{0}; };
  double (*copy_bytes_per_second)(const EngineOptions& options) = [](const EngineOptions&) { return 0.0; };
};

// NOLINTBEGIN(readability-identifier-naming): constants, although the check takes extern ones for variables
extern const Backend kCpuBackend;
extern const Backend kCudaBackend;  ///< defined in builds with CUDA
// NOLINTEND(readability-identifier-naming)

}  // namespace spdnn
