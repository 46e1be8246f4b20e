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

/// See apply_library_function().
__device__ inline float library_function(ElementFunction function, float alpha, float x) {
  switch (function) {
    case ElementFunction::elu:
      return x < 0 ? alpha * expm1f(x) : x;
    case ElementFunction::softplus:
      return fmaxf(x, 0.0F) + log1pf(expf(-fabsf(x)));
    case ElementFunction::exp:
      return expf(x);
    case ElementFunction::log:
      return logf(x);
    case ElementFunction::sqrt:
      return sqrtf(x);
    case ElementFunction::abs:
      return fabsf(x);
    case ElementFunction::sign:
      return x > 0 ? 1.0F : x < 0 ? -1.0F : x;
    case ElementFunction::floor:
      return floorf(x);
    case ElementFunction::ceil:
      return ceilf(x);
    case ElementFunction::round:
      return rintf(x);
    case ElementFunction::erf:
      return erff(x);
    case ElementFunction::sin:
      return sinf(x);
    case ElementFunction::cos:
      return cosf(x);
    case ElementFunction::tan:
      return tanf(x);
    case ElementFunction::asin:
      return asinf(x);
    case ElementFunction::acos:
      return acosf(x);
    case ElementFunction::atan:
      return atanf(x);
    case ElementFunction::sinh:
      return sinhf(x);
    case ElementFunction::cosh:
      return coshf(x);
    case ElementFunction::asinh:
      return asinhf(x);
    case ElementFunction::acosh:
      return acoshf(x);
    case ElementFunction::atanh:
      return atanhf(x);
    default:
      return x;
  }
}

}  // namespace spdnn::cuda
