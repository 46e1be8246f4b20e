// Properties of CUDA devices, in terms that need no CUDA header.

#include "engines/backend.hpp"

#include "engines/cuda/layers/twins.hpp"
#include "engines/cuda/runtime/device_info.hpp"

namespace spdnn {

namespace {

std::string why_unusable(int ordinal) {
  std::string why_not;
  cuda::cuda_available(&why_not, ordinal);
  return why_not;
}

DeviceNames names(int ordinal) {
  const cuda::DeviceInfo info = cuda::device_info(ordinal);
  return {info.name, info.driver, info.runtime, info.id};
}

planning::TwinFinder twin_finder(int ordinal) {
  return [ordinal](std::span<const Layer> layers) {
    EngineOptions options;
    options.device = ordinal;
    return cuda::find_twins(layers, options).first;
  };
}

}  // namespace

constinit const Backend kCudaBackend{
    .count = cuda::device_count,
    .why_unusable = why_unusable,
    .names = names,
    .start_up = cuda::start_up,
    .wait = cuda::wait,
    .twin_finder = twin_finder,
    .memory_budget = cuda::memory_budget,
    .copy_bytes_per_second = cuda::copy_bytes_per_second,
};

}  // namespace spdnn
