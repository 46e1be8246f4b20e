#include "inference/device/device_start.hpp"

#include <utility>

#include "core/system/stopwatch.hpp"
#include "engines/devices.hpp"
#include "inference/device/engine_choice.hpp"

namespace spdnn {

namespace {

/// From this number of edges up, the device finds twins sooner than the CPU. In smaller networks, the CPU is done
/// before the device is ready (measured on an H200 with 16 cores: 65536 neurons, 120 layers).
constexpr Offset kEdgesWorthADevice = Offset{512} << 20U;

}  // namespace

DeviceStart::DeviceStart(bool needed, std::function<int()> choose) {
  if (!needed) return;
  start_.emplace([choose = std::move(choose)](const std::stop_token& /*stop*/) {
    const Stopwatch watch;
    const int device = choose();
    start_up(Device::cuda, device);
    return Started{device, watch.seconds()};
  });
}

void DeviceStart::wait() {
  if (!start_ || over_) return;
  const Stopwatch watch;
  const Started started = start_->get();
  device_ = started.device;
  seconds_.took = started.seconds;
  seconds_.waited = watch.seconds();
  over_ = true;
}

planning::TwinFinder finder_on(Device device, int cuda_device, const char* field) {
  if (device == Device::cuda) require_cuda(field, cuda_device);
  return twin_finder(device, cuda_device);
}

bool finds_on_device(const std::optional<Device>& asked, Offset edges, const Passes& passes, const DeviceStart& start) {
  if (asked) return asked == Device::cuda;
  return start.needed() && passes.twins && edges >= kEdgesWorthADevice;
}

planning::TwinFinder finder_for(const std::optional<Device>& asked, const Network& network, const Passes& passes,
                                DeviceStart& start) {
  if (!finds_on_device(asked, network.edges(), passes, start)) return {};
  start.wait();
  if (!asked && !why_unusable(Device::cuda, start.device()).empty()) return {};
  return finder_on(Device::cuda, start.device());
}

}  // namespace spdnn
