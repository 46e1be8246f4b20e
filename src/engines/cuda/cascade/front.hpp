#pragma once

#include <cuda_runtime_api.h>

#include "engines/cuda/cascade/types.hpp"

namespace spdnn::cuda::cascade {

/// How a kernel of a front is launched.
struct FrontLaunch {
  void (*kernel)(FrontView, LaunchArgs) = nullptr;
  Index blocks = 0;  ///< per multiprocessor
  Index threads = 0;
  std::size_t shared_bytes = 0;
};

/// The kernels of a front of some number of neurons.
struct FrontLaunches {
  FrontLaunch filter;
  FrontLaunch front;
  Index teams = 0;  ///< of a block of front_kernel
};

FrontLaunches front_launches(Index neurons);

}  // namespace spdnn::cuda::cascade
