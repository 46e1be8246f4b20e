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

/// The largest useful number of threads under a quota, some of which work part of the time: the quota rounded up, or
/// kMostThreads without one.
int threads_by(const std::optional<ProcessorQuota>& quota);

/// The number of threads for one of several processes: its share of the processors, and of their quota.
int part_of_threads(int processors, int processor_sharers, const std::optional<ProcessorQuota>& quota,
                    int quota_sharers);

/// Why fewer threads than processors are used by default; empty if the quota is not the reason.
std::optional<std::string> why_fewer_threads(const std::optional<ProcessorQuota>& quota, int processors);

}  // namespace spdnn
