#pragma once

#include <optional>
#include <string>
#include <vector>

namespace spdnn {

/// A control group of Linux that this process is in, or one above it: a folder of files with its limits.
struct ControlGroup {
  std::string folder;
  bool unified;  ///< of version 2, whose files have other names than those of version 1
};

/// The groups by which a controller ("cpu", "memory") may limit this process, from its own up to the root of each
/// hierarchy. `system` stands before the paths of the kernel's files, for tests.
std::vector<ControlGroup> control_groups(const std::string& controller, const std::string& system = "");

/// What the control groups grant a process of the processors' time.
struct ProcessorQuota {
  double processors;  ///< as many as could work all the time
  std::string group;  ///< the folder of the group that grants the least
};

/// Nothing where no group limits it.
std::optional<ProcessorQuota> read_processor_quota(const std::string& system = "");

/// Of this process, read once.
const std::optional<ProcessorQuota>& processor_quota();

/// The most threads that can work by a quota, if only some of the time: the next whole number, or kMostThreads where
/// there is none.
int threads_by(const std::optional<ProcessorQuota>& quota);

/// How many threads one of several processes takes: its part of the processors, and of what their quota grants.
int part_of_threads(int processors, int processor_sharers, const std::optional<ProcessorQuota>& quota,
                    int quota_sharers);

/// Why fewer threads than processors work where no number is asked for; nothing where the quota is no reason.
std::optional<std::string> why_fewer_threads(const std::optional<ProcessorQuota>& quota, int processors);

}  // namespace spdnn
