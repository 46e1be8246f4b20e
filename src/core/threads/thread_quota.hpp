#pragma once

#include <optional>
#include <string>

#include "core/system/control_groups.hpp"

namespace spdnn {

/// The largest useful number of threads under a quota, some of which work part of the time: the quota rounded up, or
/// kMostThreads without one.
int threads_by(const std::optional<ProcessorQuota>& quota);

/// The number of threads for one of several processes: its share of the processors, and of their quota.
int part_of_threads(int processors, int processor_sharers, const std::optional<ProcessorQuota>& quota,
                    int quota_sharers);

/// Why fewer threads than processors are used by default; empty if the quota is not the reason.
std::optional<std::string> why_fewer_threads(const std::optional<ProcessorQuota>& quota, int processors);

}  // namespace spdnn
