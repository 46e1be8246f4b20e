#include "inference/device/machine.hpp"

#include <omp.h>

#include <utility>

#include "core/system/machine_names.hpp"
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
  machine.cpu = processor_name();
  return machine;
}

void note_on_threads(int asked, std::vector<std::string>& notes) {
  if (asked != 0) return;
  if (auto why = why_fewer_threads(processor_quota(), omp_get_num_procs())) notes.push_back(std::move(*why));
}

}  // namespace spdnn
