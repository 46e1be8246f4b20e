#pragma once

#include <memory>
#include <optional>
#include <string>

namespace spdnn {

/// NVIDIA's management library (NVML) for one device. The library comes with the driver and is opened at run time,
/// so that neither building nor running needs it. A result is empty if the driver gives none, as for a MIG slice.
class Nvml {
 public:
  static constexpr const char* kLibrary = "libnvidia-ml.so.1";

  /// Opens the device with this id (DeviceNames::id, a UUID in 32 hexadecimal digits). Null if the library is missing
  /// or does not know the device.
  static std::unique_ptr<const Nvml> open(const std::string& id, const std::string& library = kLibrary);
  virtual ~Nvml() = default;
  Nvml() = default;
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  // Safe to call from several threads concurrently.
  virtual std::optional<double> sm_clock_mhz() const = 0;
  virtual std::optional<double> memory_clock_mhz() const = 0;
  virtual std::optional<double> temperature_c() const = 0;
  virtual std::optional<double> power_w() const = 0;
  /// Since the driver was loaded, in steps of the counter's refresh.
  virtual std::optional<double> energy_j() const = 0;
};

}  // namespace spdnn
