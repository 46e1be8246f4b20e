#include "inference/device/device_monitor.hpp"

#include <condition_variable>
#include <system_error>
#include <utility>

#include "engines/devices.hpp"

namespace spdnn {

void DeviceMonitor::begin() {
  sample();
  if (rates_.energy) joules_at_begin_ = nvml_->energy_j();
  watch_.lap();
  try {
    thread_ = std::jthread([this](const std::stop_token& stop) { sample_until(stop); });
  } catch (const std::system_error&) {
    // Without a thread, the samples at both ends are all there are.
  }
}

void DeviceMonitor::end(int trials) {
  const double seconds = watch_.seconds();
  const std::optional<double> joules = nvml_->energy_j();
  thread_ = {};  // asked to stop and waited for
  sample();
  if (joules && joules_at_begin_ && joules_per_trial_ && trials > 0 && seconds >= rates_.shortest_seconds)
    *joules_per_trial_ += (*joules - *joules_at_begin_) / trials;
  else
    joules_per_trial_.reset();
}

DeviceState DeviceMonitor::state() const {
  const auto over = [](const std::vector<double>& samples) {
    return samples.empty() ? std::nullopt : std::optional(spread(samples));
  };
  return {over(samples_.sm_clock_mhz), over(samples_.memory_clock_mhz), over(samples_.temperature_c),
          over(samples_.power_w), joules_per_trial_};
}

void DeviceMonitor::sample() {
  const auto keep = [](std::vector<double>& samples, const std::optional<double>& value) {
    if (value) samples.push_back(*value);
  };
  keep(samples_.sm_clock_mhz, nvml_->sm_clock_mhz());
  keep(samples_.memory_clock_mhz, nvml_->memory_clock_mhz());
  keep(samples_.temperature_c, nvml_->temperature_c());
  keep(samples_.power_w, nvml_->power_w());
}

void DeviceMonitor::sample_until(const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any wake;
  std::unique_lock lock(mutex);
  while (!wake.wait_for(lock, stop, rates_.between, [] { return false; }) && !stop.stop_requested()) sample();
}

std::unique_ptr<DeviceMonitor> monitor_of(int cuda_device, bool energy) {
  std::unique_ptr<const Nvml> nvml = Nvml::open(device_names(Device::cuda, cuda_device).id);
  return nvml ? std::make_unique<DeviceMonitor>(std::move(nvml), DeviceMonitor::Rates{.energy = energy}) : nullptr;
}

}  // namespace spdnn
