#include "engines/devices.hpp"

#include "core/stopwatch.hpp"

#ifdef SPDNN_WITH_CUDA
#include "engines/cuda/layers/twins.hpp"
#include "engines/cuda/runtime/device_info.hpp"
#endif

namespace spdnn {

std::string why_unusable(Device device, [[maybe_unused]] int ordinal) {
  if (device == Device::cpu) return {};
#ifdef SPDNN_WITH_CUDA
  std::string why_not;
  cuda::cuda_available(&why_not, ordinal);
  return why_not;
#else
  return "built without CUDA: make GPU=1";
#endif
}

DeviceNames device_names([[maybe_unused]] Device device, [[maybe_unused]] int ordinal) {
#ifdef SPDNN_WITH_CUDA
  if (device == Device::cuda) {
    const cuda::DeviceInfo info = cuda::device_info(ordinal);
    return {info.name, info.driver, info.runtime};
  }
#endif
  return {};
}

double start_up([[maybe_unused]] Device device, [[maybe_unused]] int ordinal) {
  const Stopwatch watch;
#ifdef SPDNN_WITH_CUDA
  if (device == Device::cuda) cuda::start_up(ordinal);
#endif
  return watch.seconds();
}

planning::TwinFinder twin_finder([[maybe_unused]] Device device, [[maybe_unused]] int ordinal) {
#ifdef SPDNN_WITH_CUDA
  if (device == Device::cuda)
    return [ordinal](std::span<const Layer> layers) {
      EngineOptions options;
      options.device = ordinal;
      return cuda::find_twins(layers, options).first;
    };
#endif
  return {};
}

}  // namespace spdnn
