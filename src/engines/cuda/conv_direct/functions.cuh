#pragma once

#include <cuda_runtime_api.h>

#include "engines/cuda/conv_direct/functions.hpp"

namespace spdnn::cuda {

/// The function of a result, the `place`-th number of its tensor.
__device__ inline float apply(const Function& function, float x, std::size_t place) {
  switch (function.kind) {
    case Function::Kind::clip:
      return fminf(function.b, fmaxf(function.a, x));
    case Function::Kind::leaky:
      return x < 0 ? function.a * x : x;
    case Function::Kind::sigmoid:
      return 1 / (1 + expf(-x));
    case Function::Kind::tanh:
      return tanhf(x);
    case Function::Kind::hard_sigmoid:
      return fminf(1.0F, fmaxf(0.0F, function.a * x + function.b));
    case Function::Kind::hard_swish:
      return x * fminf(1.0F, fmaxf(0.0F, x / 6 + 0.5F));
    case Function::Kind::line:
      return function.a * x + function.b;
    case Function::Kind::addition:
      return x + function.other[place];
  }
  return x;
}

__device__ inline float apply(const Functions& functions, float x, std::size_t place) {
  for (Index i = 0; i < functions.count; ++i) x = apply(functions.all[i], x, place);
  return x;
}

}  // namespace spdnn::cuda
