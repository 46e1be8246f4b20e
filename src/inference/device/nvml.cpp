// The few functions of NVML that are used are declared here by their documented interface, in which enumerations are
// ints and a device is a pointer, so that the CPU build has them too.

#include "inference/device/nvml.hpp"

#include <dlfcn.h>

#include <utility>

namespace spdnn {

namespace {

using DeviceHandle = void*;
constexpr int kSuccess = 0;
constexpr int kClockSm = 1;
constexpr int kClockMemory = 2;
constexpr int kTemperatureOfGpu = 0;

struct Close {
  void operator()(void* library) const { ::dlclose(library); }
};

/// The functions of the open library, looked up by name.
struct Functions {
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*handle_by_uuid)(const char* uuid, DeviceHandle* device) = nullptr;
  int (*clock)(DeviceHandle device, int type, unsigned* mhz) = nullptr;
  int (*temperature)(DeviceHandle device, int sensor, unsigned* celsius) = nullptr;
  int (*power)(DeviceHandle device, unsigned* milliwatts) = nullptr;
  int (*energy)(DeviceHandle device, unsigned long long* millijoules) = nullptr;

  explicit Functions(void* library) {
    const auto find = [library](const char* name, auto& function) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
    };
    find("nvmlInit_v2", init);
    find("nvmlShutdown", shutdown);
    find("nvmlDeviceGetHandleByUUID", handle_by_uuid);
    find("nvmlDeviceGetClockInfo", clock);
    find("nvmlDeviceGetTemperature", temperature);
    find("nvmlDeviceGetPowerUsage", power);
    find("nvmlDeviceGetTotalEnergyConsumption", energy);
  }
};

/// `id` as NVML writes it: 8-4-4-4-12 digits.
std::string uuid_of(std::string id, const char* prefix) {
  for (const std::size_t dash : {20, 16, 12, 8})
    if (id.size() > dash) id.insert(dash, "-");
  return prefix + id;
}

/// Between nvmlInit and nvmlShutdown.
class OpenNvml final : public Nvml {
 public:
  OpenNvml(std::unique_ptr<void, Close> library, const Functions& functions, const std::string& id)
      : library_(std::move(library)), functions_(functions) {
    for (const char* const prefix : {"GPU-", "MIG-"})
      if (device_ == nullptr && functions_.handle_by_uuid(uuid_of(id, prefix).c_str(), &device_) != kSuccess)
        device_ = nullptr;
  }
  OpenNvml(const OpenNvml&) = delete;
  OpenNvml& operator=(const OpenNvml&) = delete;
  ~OpenNvml() override {
    if (functions_.shutdown != nullptr) functions_.shutdown();
  }

  bool knows_device() const { return device_ != nullptr; }
  std::optional<double> sm_clock_mhz() const override { return ask<unsigned>(1, functions_.clock, kClockSm); }
  std::optional<double> memory_clock_mhz() const override { return ask<unsigned>(1, functions_.clock, kClockMemory); }
  std::optional<double> temperature_c() const override {
    return ask<unsigned>(1, functions_.temperature, kTemperatureOfGpu);
  }
  std::optional<double> power_w() const override { return ask<unsigned>(1e-3, functions_.power); }
  std::optional<double> energy_j() const override { return ask<unsigned long long>(1e-3, functions_.energy); }

 private:
  template <class T, class... Kind>
  std::optional<double> ask(double unit, auto* function, Kind... kind) const {
    T value = 0;
    if (function == nullptr || function(device_, kind..., &value) != kSuccess) return std::nullopt;
    return static_cast<double>(value) * unit;
  }

  std::unique_ptr<void, Close> library_;
  Functions functions_;
  DeviceHandle device_ = nullptr;
};

}  // namespace

std::unique_ptr<const Nvml> Nvml::open(const std::string& id, const std::string& library) {
  std::unique_ptr<void, Close> opened(::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL));
  if (!opened) return nullptr;
  const Functions functions(opened.get());
  if (functions.init == nullptr || functions.handle_by_uuid == nullptr || functions.init() != kSuccess) return nullptr;
  auto nvml = std::make_unique<OpenNvml>(std::move(opened), functions, id);
  if (!nvml->knows_device()) return nullptr;
  return nvml;
}

}  // namespace spdnn
