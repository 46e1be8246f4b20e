#include "core/system/host_memory.hpp"

#include <unistd.h>

#include <fstream>
#include <limits>
#include <optional>
#include <string>

#include "core/system/control_groups.hpp"

namespace spdnn {

namespace {

constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max();

/// The first number in a kernel file; empty if there is none ("max").
std::optional<std::size_t> number_in(const std::string& file) {
  std::ifstream stream(file);
  std::size_t number = 0;
  if (stream >> number) return number;
  return std::nullopt;
}

std::size_t available_on_system() {
  std::ifstream stream("/proc/meminfo");
  for (std::string name; stream >> name;) {
    std::size_t kibibytes = 0;
    if (name == "MemAvailable:" && stream >> kibibytes) return kibibytes * 1024;
    stream.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return static_cast<std::size_t>(sysconf(_SC_AVPHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

/// The memory that one cgroup still grants: its limit minus its use, without files in the page cache, which can be
/// evicted.
std::size_t left_in(const std::string& group, const char* limit_name, const char* use_name,
                    const std::string& cache_name) {
  const auto limit = number_in(group + "/" + limit_name);
  const auto use = number_in(group + "/" + use_name);
  if (!limit || !use) return kUnlimited;
  std::size_t cache = 0;
  std::ifstream statistics(group + "/memory.stat");
  std::size_t value = 0;
  for (std::string name; statistics >> name >> value;)
    if (name == cache_name) cache = value;
  const std::size_t in_use = *use - std::min(*use, cache);
  return *limit - std::min(*limit, in_use);
}

/// The minimum granted by the process's cgroup and its ancestors.
std::size_t left_in_cgroups() {
  std::size_t left = kUnlimited;
  for (const auto& [folder, unified] : control_groups("memory"))
    left = std::min(left,
                    unified ? left_in(folder, "memory.max", "memory.current", "inactive_file")
                            : left_in(folder, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"));
  return left;
}

}  // namespace

std::size_t available_host_bytes() { return std::min(available_on_system(), left_in_cgroups()); }

}  // namespace spdnn
