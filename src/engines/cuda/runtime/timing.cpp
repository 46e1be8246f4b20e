#include "engines/cuda/runtime/timing.hpp"

#include <algorithm>

#include "engines/cuda/runtime/check.hpp"
#include "engines/cuda/runtime/handle.hpp"

namespace spdnn::cuda {

namespace {

class DeviceTimer {
 public:
  explicit DeviceTimer(cudaStream_t stream) : stream_(stream) {
    check(cudaEventCreate(begin_.out()));
    check(cudaEventCreate(end_.out()));
  }

  /// The mean over `calls`.
  double seconds(const std::function<void()>& work, Index calls) const {
    check(cudaEventRecord(begin_, stream_));
    for (Index i = 0; i < calls; ++i) work();
    check(cudaEventRecord(end_, stream_));
    check(cudaEventSynchronize(end_));
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin_, end_));
    return milliseconds * 1e-3 / calls;
  }

 private:
  cudaStream_t stream_;
  Event begin_;
  Event end_;
};

}  // namespace

std::vector<double> device_seconds(cudaStream_t stream, Index runs, const std::function<void()>& work) {
  constexpr double kEnough = 1e-3;
  constexpr double kMostCalls = 100;
  const DeviceTimer timer(stream);
  const double first = timer.seconds(work, 1);
  const auto calls = static_cast<Index>(std::clamp(kEnough / std::max(first, 1e-9), 1.0, kMostCalls));
  std::vector<double> seconds;
  if (calls == 1) seconds.push_back(first);
  while (seconds.size() < runs) seconds.push_back(timer.seconds(work, calls));
  return seconds;
}

}  // namespace spdnn::cuda
