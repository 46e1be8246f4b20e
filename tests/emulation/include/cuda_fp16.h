#pragma once

// Half precision for cuda_runtime_api.h beside this file, rounded to nearest as on a device.

#include <cuda_runtime_api.h>

struct __half {
  _Float16 value;

  friend __half operator+(__half a, __half b) { return {static_cast<_Float16>(a.value + b.value)}; }
};
struct alignas(4) __half2 {
  __half x, y;
};

inline __half __float2half_rn(float value) { return {static_cast<_Float16>(value)}; }
inline float __half2float(__half value) { return static_cast<float>(value.value); }
inline __half2 __floats2half2_rn(float x, float y) { return {__float2half_rn(x), __float2half_rn(y)}; }
inline __half __hfma(__half a, __half b, __half c) {
  return {static_cast<_Float16>(double{a.value} * double{b.value} + double{c.value})};
}
inline __half2 __hfma2(__half2 a, __half2 b, __half2 c) { return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)}; }
inline float2 __half22float2(__half2 pair) { return {__half2float(pair.x), __half2float(pair.y)}; }
