#include "engines/memory_budget.hpp"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <string>

#ifdef SPDNN_WITH_CUDA
#include "engines/cuda/device_info.hpp"
#endif

namespace spdnn {

namespace {

/// What may be taken of the memory available: the rest is left to the page cache and to others.
constexpr double kShare = 0.75;

std::optional<std::size_t> number_in(const char* path) {
  std::ifstream file(path);
  std::size_t value = 0;
  if (file >> value) return value;
  return std::nullopt;
}

/// MemAvailable; where the kernel does not say, the physical memory.
std::size_t system_available() {
  std::ifstream info("/proc/meminfo");
  for (std::string key, unit; info >> key;) {
    std::size_t kilobytes = 0;
    if (!(info >> kilobytes)) break;
    std::getline(info, unit);
    if (key == "MemAvailable:") return kilobytes * 1024;
  }
  return static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

/// What the control group (version 2, then 1) leaves, if it limits at all.
std::size_t group_available() {
  constexpr std::pair<const char*, const char*> kFiles[] = {
      {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"},
      {"/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"}};
  for (const auto& [limit_file, usage_file] : kFiles) {
    const auto limit = number_in(limit_file);
    const auto usage = number_in(usage_file);
    if (limit && usage) return *limit > *usage ? *limit - *usage : 0;
  }
  return std::numeric_limits<std::size_t>::max();
}

}  // namespace

std::size_t memory_budget(Device device, [[maybe_unused]] const EngineOptions& options) {
#ifdef SPDNN_WITH_CUDA
  if (device == Device::cuda) return cuda::memory_budget(options);
#endif
  (void)device;
  return static_cast<std::size_t>(kShare * static_cast<double>(std::min(system_available(), group_available())));
}

}  // namespace spdnn
