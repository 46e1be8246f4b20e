#include "inference/machine.hpp"

#include <unistd.h>

#include <array>
#include <fstream>

#include "engines/devices.hpp"

namespace spdnn {

Machine this_machine(Device device) {
  Machine machine;
  const DeviceNames names = device_names(device);
  machine.device = names.name;
  machine.driver = names.driver;
  machine.cuda = names.cuda;
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
