#pragma once

#include <cuda_runtime_api.h>

#include "engines/cuda/cascade/types.hpp"

namespace spdnn::cuda::cascade {

/// How front_kernel is launched for a front of some number of neurons.
struct FrontLaunch {
  void (*kernel)(FrontView, LaunchArgs) = nullptr;
  Index threads = 0;
  Index teams = 0;   ///< of a block
  Index images = 0;  ///< that a team takes at a time, at most
  std::size_t shared_bytes = 0;
};

FrontLaunch front_launch(Index neurons);

}  // namespace spdnn::cuda::cascade
