#pragma once

#include <memory>
#include <optional>
#include <string>

namespace spdnn {

/// NVIDIA's management library (NVML) for one device. The library comes with the driver and is opened at run time,
/// so that neither building nor running needs it. Each answer is empty where the driver gives none, as on a device that
/// is shared out (MIG).
class Nvml {
 public:
  static constexpr const char* kLibrary = "libnvidia-ml.so.1";

  /// Of the device with this id (DeviceNames::id, a UUID in 32 hexadecimal digits). Null where there is no such
  /// library, or it knows no such device.
  static std::unique_ptr<const Nvml> open(const std::string& id, const std::string& library = kLibrary);
  virtual ~Nvml() = default;
  Nvml() = default;
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  // May be asked by several threads at once.
  virtual std::optional<double> sm_clock_mhz() const = 0;
  virtual std::optional<double> memory_clock_mhz() const = 0;
  virtual std::optional<double> temperature_c() const = 0;
  virtual std::optional<double> power_w() const = 0;
  /// Since the driver was loaded, in steps of the counter's refresh.
  virtual std::optional<double> energy_j() const = 0;
};

}  // namespace spdnn
