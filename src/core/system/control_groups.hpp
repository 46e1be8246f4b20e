#pragma once

#include <optional>
#include <string>
#include <vector>

namespace spdnn {

/// A Linux control group that contains this process: a folder of files with its limits.
struct ControlGroup {
  std::string folder;
  bool unified;  ///< version 2, whose file names differ from those of version 1
};

/// The groups by which a controller ("cpu", "memory") may limit this process, from its own up to the root of each
/// hierarchy. `system` is a prefix of the kernel's paths, for tests.
std::vector<ControlGroup> control_groups(const std::string& controller, const std::string& system = "");

/// The processor time that control groups grant a process.
struct ProcessorQuota {
  double processors;  ///< number of processors that could work all the time
  std::string group;  ///< the folder of the most restrictive group
};

/// Empty without a limit.
std::optional<ProcessorQuota> read_processor_quota(const std::string& system = "");

/// The quota of this process, read once.
const std::optional<ProcessorQuota>& processor_quota();

}  // namespace spdnn
