#include "core/system/machine_names.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>

namespace spdnn {

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : std::string();
}

std::string processor_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("model name")) return line.substr(std::min(line.find(": ") + 2, line.size()));
  return {};
}

}  // namespace spdnn
