#include "inference/device/machine.hpp"

#include <omp.h>

#include <fstream>
#include <utility>

#include "core/system/host_name.hpp"
#include "core/threads/thread_quota.hpp"
#include "engines/devices.hpp"

namespace spdnn {

Machine this_machine(Device device) {
  Machine machine;
  const DeviceNames names = device_names(device);
  machine.device = names.name;
  machine.driver = names.driver;
  machine.cuda = names.cuda;
  machine.host = host_name();
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (!line.starts_with("model name")) continue;
    machine.cpu = line.substr(std::min(line.find(": ") + 2, line.size()));
    break;
  }
  return machine;
}

void note_on_threads(int asked, std::vector<std::string>& notes) {
  if (asked != 0) return;
  if (auto why = why_fewer_threads(processor_quota(), omp_get_num_procs())) notes.push_back(std::move(*why));
}

}  // namespace spdnn
