#include "report/machine.hpp"

#include <unistd.h>

#include <array>
#include <fstream>

namespace spdnn {

Machine this_machine() {
  Machine machine;
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) == 0) machine.host = host.data();
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (!line.starts_with("model name")) continue;
    machine.cpu = line.substr(std::min(line.find(": ") + 2, line.size()));
    break;
  }
  return machine;
}

}  // namespace spdnn
