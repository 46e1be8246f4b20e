#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <vector>

#include "spdnn/types.hpp"

namespace spdnn::cuda {

/// Seconds on the device of each of `runs` calls of `work`, which gives the stream something to do. Short calls are
/// timed several at a time, one queued behind another, and the mean of these counts as one run: neither the latency of
/// a launch nor the resolution of events then matters.
std::vector<double> device_seconds(cudaStream_t stream, Index runs, const std::function<void()>& work);

}  // namespace spdnn::cuda
