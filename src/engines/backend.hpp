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

/// Queries about one kind of device, for all variants on it; the program calls them through engines/devices.hpp.
struct Backend {
  int (*count)();
  std::string (*why_unusable)(int ordinal);
  DeviceNames (*names)(int ordinal);
  void (*start_up)(int ordinal);
  void (*wait)(int ordinal);
  planning::TwinFinder (*twin_finder)(int ordinal);
  std::size_t (*memory_budget)(const EngineOptions& options);
  double (*copy_bytes_per_second)(const EngineOptions& options);
};

// NOLINTBEGIN(readability-identifier-naming): constants, although the check takes extern ones for variables
extern const Backend kCpuBackend;
extern const Backend kCudaBackend;  ///< defined in builds with CUDA
// NOLINTEND(readability-identifier-naming)

}  // namespace spdnn
