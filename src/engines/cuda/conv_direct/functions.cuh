#pragma once

#include <cuda_runtime_api.h>

#include "engines/cuda/conv_direct/functions.hpp"

namespace spdnn::cuda {

struct Addition {
  const float* other;
  __device__ float operator()(float x, std::size_t place) const { return x + other[place]; }
};

/// Calls work(f), where f(x, place) is the function of a result, the `place`-th number of its tensor. The kind is
/// looked at once for all results: code that looks at it for each does not fit into the caches of instructions.
template <class Work>
__device__ void with_function(const Function& function, const Work& work) {
  const float a = function.a;
  const float b = function.b;
  switch (function.kind) {
    case Function::Kind::clip:
      return work([a, b](float x, std::size_t) { return fminf(b, fmaxf(a, x)); });
    case Function::Kind::leaky:
      return work([a](float x, std::size_t) { return x < 0 ? a * x : x; });
    case Function::Kind::sigmoid:
      return work([](float x, std::size_t) { return 1 / (1 + expf(-x)); });
    case Function::Kind::tanh:
      return work([](float x, std::size_t) { return tanhf(x); });
    case Function::Kind::hard_sigmoid:
      return work([a, b](float x, std::size_t) { return fminf(1.0F, fmaxf(0.0F, a * x + b)); });
    case Function::Kind::hard_swish:
      return work([](float x, std::size_t) { return x * fminf(1.0F, fmaxf(0.0F, x / 6 + 0.5F)); });
    case Function::Kind::line:
      return work([a, b](float x, std::size_t) { return a * x + b; });
    case Function::Kind::addition:
      return work(Addition{function.other});
  }
}

/// Calls work(f) for each of the functions, one after another.
template <class Work>
__device__ void with_functions(const Functions& functions, const Work& work) {
#pragma unroll 1
  for (Index i = 0; i < functions.count; ++i) with_function(functions.all[i], work);
}

__device__ inline float apply(const Functions& functions, float x, std::size_t place) {
  with_functions(functions, [&](auto function) { x = function(x, place); });
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
