#include "core/system/control_groups.hpp"

#include <fstream>

namespace spdnn {

namespace {

bool lists(const std::string& controllers, const std::string& controller) {
  return ("," + controllers + ",").find("," + controller + ",") != std::string::npos;
}

/// A positive number; empty for "max" and -1, which mean no limit.
std::optional<double> positive_number(std::istream& stream) {
  double number = 0;
  if (stream >> number && number > 0) return number;
  return std::nullopt;
}

/// Quota and period in microseconds: two numbers in one file, or one in each of two files.
std::optional<double> processors_of(const ControlGroup& group) {
  std::ifstream quotas(group.folder + (group.unified ? "/cpu.max" : "/cpu.cfs_quota_us"));
  std::ifstream periods(group.folder + "/cpu.cfs_period_us");
  const auto quota = positive_number(quotas);
  const auto period = positive_number(group.unified ? quotas : periods);
  if (!quota || !period) return std::nullopt;
  return *quota / *period;
}

}  // namespace

// Version 2 has one hierarchy at the mount point ("0::/path"), version 1 has one per controller or group of controllers
// ("N:cpu,cpuacct:/path"); in a container the path may not exist under the mount point, whose own files then apply.
std::vector<ControlGroup> control_groups(const std::string& controller, const std::string& system) {
  std::vector<ControlGroup> groups;
  std::ifstream stream(system + "/proc/self/cgroup");
  for (std::string line; std::getline(stream, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool unified = controllers.empty();
    if (!unified && !lists(controllers, controller)) continue;
    const std::string mount = system + "/sys/fs/cgroup" + (unified ? "" : "/" + controller);
    std::string path = line.substr(second + 1);
    if (path == "/") path.clear();
    for (;; path.resize(path.rfind('/'))) {
      groups.push_back({mount + path, unified});
      if (path.find('/') == std::string::npos) break;
    }
  }
  return groups;
}

std::optional<ProcessorQuota> read_processor_quota(const std::string& system) {
  std::optional<ProcessorQuota> least;
  for (const ControlGroup& group : control_groups("cpu", system)) {
    const auto processors = processors_of(group);
    if (processors && (!least || *processors < least->processors)) least = {*processors, group.folder};
  }
  return least;
}

const std::optional<ProcessorQuota>& processor_quota() {
  static const std::optional<ProcessorQuota> quota = read_processor_quota();
  return quota;
}

}  // namespace spdnn
