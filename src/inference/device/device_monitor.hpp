#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "core/system/stopwatch.hpp"
#include "inference/device/nvml.hpp"
#include "spdnn/report.hpp"

namespace spdnn {

/// Watches a device during trials: clocks, temperature and power, sampled at the beginning, at the end and in between
/// by a separate thread; and the energy from beginning to end. The samples at both ends are outside the trials' time.
class DeviceMonitor {
 public:
  struct Rates {
    std::chrono::milliseconds between{100};  ///< interval of samples
    /// Shortest time for an energy measurement. Drivers refresh the counter about ten times a second, so that its two
    /// readings are off by at most a tenth of two seconds.
    double shortest_seconds = 2.0;
    bool energy = true;  ///< whether it is measured
  };

  explicit DeviceMonitor(std::unique_ptr<const Nvml> nvml) : DeviceMonitor(std::move(nvml), Rates{}) {}
  DeviceMonitor(std::unique_ptr<const Nvml> nvml, const Rates& rates) : nvml_(std::move(nvml)), rates_(rates) {}

  /// begin() and end() bracket the trials of one batch of images; call the pair once per batch.
  void begin();
  void end(int trials);
  /// Whether more trials are needed since begin() to measure their energy.
  bool wants_more() const { return joules_at_begin_ && watch_.seconds() < rates_.shortest_seconds; }

  /// The state over all batches. The energy, per trial, is given if it is known for each batch.
  DeviceState state() const;

 private:
  struct Samples {
    std::vector<double> sm_clock_mhz;
    std::vector<double> memory_clock_mhz;
    std::vector<double> temperature_c;
    std::vector<double> power_w;
  };

  void sample();
  void sample_until(const std::stop_token& stop);

  std::unique_ptr<const Nvml> nvml_;
  Rates rates_;
  Samples samples_;  ///< used by one thread at a time
  Stopwatch watch_;
  std::optional<double> joules_at_begin_;
  std::optional<double> joules_per_trial_ = 0.0;
  std::jthread thread_;  ///< the last member, so that it has ended before the others are destroyed
};

/// A monitor of the CUDA device; null where its driver does not answer.
std::unique_ptr<DeviceMonitor> monitor_of(int cuda_device, bool energy);

}  // namespace spdnn
