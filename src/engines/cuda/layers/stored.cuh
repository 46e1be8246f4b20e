#pragma once

// How activations are stored on the device: as float or, with fp16 storage, rounded to half precision.

#include <cuda_fp16.h>

#include <type_traits>

namespace spdnn::cuda {

/// Rounds to nearest where Stored is a half.
template <class Stored>
__device__ Stored to_stored(float y) {
  if constexpr (std::is_same_v<Stored, float>)
    return y;
  else
    return __float2half_rn(y);
}

__device__ inline float to_float(float y) { return y; }
__device__ inline float to_float(__half y) { return __half2float(y); }

}  // namespace spdnn::cuda
