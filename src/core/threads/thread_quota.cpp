#include "core/threads/thread_quota.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/text/amounts.hpp"
#include "core/threads/parallel.hpp"

namespace spdnn {

int threads_by(const std::optional<ProcessorQuota>& quota) {
  return quota ? static_cast<int>(std::clamp(std::ceil(quota->processors), 1.0, double{kMostThreads})) : kMostThreads;
}

int part_of_threads(int processors, int processor_sharers, const std::optional<ProcessorQuota>& quota,
                    int quota_sharers) {
  return std::max(1, std::min(processors / processor_sharers, threads_by(quota) / quota_sharers));
}

std::optional<std::string> why_fewer_threads(const std::optional<ProcessorQuota>& quota, int processors) {
  const int threads = threads_by(quota);
  if (!quota || threads >= processors) return std::nullopt;
  return fmt::format("{}: control group {} limits the CPU time to {:.3g} of {} processors",
                     counted(static_cast<unsigned>(threads), "thread", "threads"), quota->group, quota->processors,
                     processors);
}

}  // namespace spdnn
