#include "core/system/processor_name.hpp"

#include <algorithm>
#include <fstream>

namespace spdnn {

std::string processor_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("model name")) return line.substr(std::min(line.find(": ") + 2, line.size()));
  return {};
}

}  // namespace spdnn
