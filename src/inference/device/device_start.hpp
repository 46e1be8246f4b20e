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

/// Starts the CUDA device on a separate thread if it may be needed.
class DeviceStart {
 public:
  /// `choose` selects the device on that thread, because counting the devices already starts the driver.
  DeviceStart(bool needed, std::function<int()> choose);
  bool needed() const { return start_.has_value(); }
  /// Returns when the device is ready.
  void wait();
  const StartSeconds& seconds() const { return seconds_; }
  /// The chosen device, after wait(); 0 if none is needed.
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

/// For make_plan(): finds twins on `device`; empty for the CPU. Unsupported or DeviceError, about `field`, if the
/// requested device cannot be used.
planning::TwinFinder finder_on(Device device, int cuda_device = 0, const char* field = "plan_device");

/// Whether the CUDA device is to find the twins of a network for InferenceSpec::plan_device, for which empty means the
/// faster device.
bool finds_on_device(const std::optional<Device>& asked, Offset edges, const Passes& passes, const DeviceStart& start);

/// The finder for it. Waits for the device if it is used.
planning::TwinFinder finder_for(const std::optional<Device>& asked, const Network& network, const Passes& passes,
                                DeviceStart& start);

/// The note in reports and `inspect` on the use of such a finder.
inline constexpr const char* kPlannedOnCuda = "twins were found on the CUDA device";

}  // namespace spdnn
