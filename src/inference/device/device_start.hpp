#pragma once

#include <functional>
#include <optional>

#include "core/threads/background.hpp"
#include "plan/passes/twins.hpp"
#include "spdnn/network.hpp"
#include "spdnn/outcome.hpp"
#include "spdnn/passes.hpp"
#include "spdnn/report.hpp"

namespace spdnn {

/// Starts the CUDA device up on a thread of its own, where it may be needed.
class DeviceStart {
 public:
  /// `choose` names the device on that thread, as asking how many there are starts the driver up.
  DeviceStart(bool needed, std::function<int()> choose);
  bool needed() const { return start_.has_value(); }
  /// Returns when the device is ready.
  void wait();
  const StartSeconds& seconds() const { return seconds_; }
  /// The device that was chosen, once it has been waited for; 0 where none is needed.
  int device() const { return device_; }

 private:
  struct Started {
    int device;
    double seconds;
  };

  std::optional<Background<Started>> start_;
  int device_ = 0;
  bool over_ = false;
  StartSeconds seconds_;
};

/// For make_plan: what looks for twins on `device`; empty for the CPU. Unsupported or DeviceError where a device was
/// asked for that cannot be used.
planning::TwinFinder finder_on(Device device, int cuda_device = 0);

/// The same for InferenceSpec::plan_device, where empty means whichever takes less time. Waits for the device if it
/// is to be used.
planning::TwinFinder finder_for(const std::optional<Device>& asked, const Network& network, const Passes& passes,
                                DeviceStart& start);

/// What reports and `inspect` say where such a finder was used.
inline constexpr const char* kPlannedOnCuda = "twins were looked for on the CUDA device";

}  // namespace spdnn
