#include "engines/devices.hpp"

#include "core/system/stopwatch.hpp"

namespace spdnn {

namespace {

#ifdef SPDNN_WITH_CUDA
const Backend& cuda_backend() { return kCudaBackend; }
#else
/// Stands where a build has no CUDA.
const Backend& cuda_backend() {
  static constexpr Backend kAbsent{.why_unusable = [](int) { return std::string("built without CUDA"); }};
  return kAbsent;
}
#endif

const Backend& backend(Device device) { return device == Device::cpu ? kCpuBackend : cuda_backend(); }

}  // namespace

std::string why_unusable(Device device, int ordinal) { return backend(device).why_unusable(ordinal); }

int device_count(Device device) { return backend(device).count(); }

DeviceNames device_names(Device device, int ordinal) { return backend(device).names(ordinal); }

double start_up(Device device, int ordinal) {
  const Stopwatch watch;
  backend(device).start_up(ordinal);
  return watch.seconds();
}

void wait_for(Device device, int ordinal) { backend(device).wait(ordinal); }

planning::TwinFinder twin_finder(Device device, int ordinal) { return backend(device).twin_finder(ordinal); }

std::size_t memory_budget(Device device, const EngineOptions& options) {
  return backend(device).memory_budget(options);
}

double copy_bytes_per_second(Device device, const EngineOptions& options) {
  return backend(device).copy_bytes_per_second(options);
}

}  // namespace spdnn
