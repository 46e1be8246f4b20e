#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "core/system/stopwatch.hpp"
#include "inference/device/nvml.hpp"
#include "spdnn/report.hpp"

namespace spdnn {

/// Watches a device while trials run: clocks, temperature and power, asked for at the beginning, at the end and, by a
/// thread of its own, now and then in between; and the energy from the beginning to the end. The questions at both ends
/// are outside the trials' time.
class DeviceMonitor {
 public:
  struct Rates {
    std::chrono::milliseconds between{100};  ///< one sample and the next
    /// Energy takes so long. Drivers refresh the counter some ten times a second, so both ends of two seconds together
    /// are wrong by a tenth at most.
    double shortest_seconds = 2.0;
    bool energy = true;  ///< whether it is asked for
  };

  explicit DeviceMonitor(std::unique_ptr<const Nvml> nvml) : DeviceMonitor(std::move(nvml), Rates{}) {}
  DeviceMonitor(std::unique_ptr<const Nvml> nvml, const Rates& rates) : nvml_(std::move(nvml)), rates_(rates) {}

  /// Trials of one batch of images begin, and end: there were so many. Both together may be called several times.
  void begin();
  void end(int trials);
  /// Since begin(): whether more trials are needed for their energy to be told.
  bool wants_more() const { return joules_at_begin_ && watch_.seconds() < rates_.shortest_seconds; }

  /// Of all batches. Energy, of one trial, is told where it is known of each batch.
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
  Samples samples_;  ///< of one thread at a time
  Stopwatch watch_;
  std::optional<double> joules_at_begin_;
  std::optional<double> joules_per_trial_ = 0.0;
  std::jthread thread_;  ///< the last member, so that it has ended before the others are destroyed
};

}  // namespace spdnn
