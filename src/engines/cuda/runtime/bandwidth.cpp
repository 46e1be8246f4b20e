#include <algorithm>
#include <limits>

#include "engines/cuda/runtime/buffer.hpp"
#include "engines/cuda/runtime/device.hpp"

namespace spdnn::cuda {

double copy_bytes_per_second(const EngineOptions& options) {
  constexpr std::size_t kMost = std::size_t{1} << 30U;
  const std::size_t bytes = std::min(kMost, memory_budget(options) / 4);
  const Stream stream = stream_on(options);
  const DeviceBuffer<std::byte> from(bytes, stream);
  const DeviceBuffer<std::byte> to(bytes, stream);
  check(cudaMemsetAsync(from.data(), 1, bytes, stream));
  Event start;
  Event stop;
  check(cudaEventCreate(start.out()));
  check(cudaEventCreate(stop.out()));
  float best_ms = std::numeric_limits<float>::infinity();
  for (int run = 0; run < 10; ++run) {
    check(cudaEventRecord(start, stream));
    check(cudaMemcpyAsync(to.data(), from.data(), bytes, cudaMemcpyDeviceToDevice, stream));
    check(cudaEventRecord(stop, stream));
    check(cudaEventSynchronize(stop));
    float ms = 0.0F;
    check(cudaEventElapsedTime(&ms, start, stop));
    best_ms = std::min(best_ms, ms);
  }
  return 2.0 * static_cast<double>(bytes) / (best_ms * 1e-3);
}

}  // namespace spdnn::cuda
