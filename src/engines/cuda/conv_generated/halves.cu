#include <cuda_fp16.h>

#include "engines/cuda/conv_direct/elements.cuh"
#include "engines/cuda/conv_direct/taps.cuh"
#include "engines/cuda/conv_generated/halves.hpp"

namespace spdnn::cuda {

namespace {

/// Words that are numbers of two images; see Floats. Instruction by instruction as instructions.cpp.
struct Halves {
  using Word = __half2;
  static __device__ Word of(float number) { return __float2half2_rn(number); }
  static __device__ Word fma(Word a, Word b, Word c) { return __hfma2(a, b, c); }
  /// A number that is infinite becomes NaN, which no function hides.
  static __device__ Word with_overflow_kept(Word x) { return __hfma2(x, of(0), x); }
  static __device__ Word applied(const Function& function, Word x, std::size_t place) {
    const Word a = of(function.a);
    switch (function.kind) {
      case Function::Kind::clip:
        return __hmin2_nan(__hmax2_nan(x, a), of(function.b));
      case Function::Kind::leaky:
        return with_overflow_kept(__hfma2(__hmin2_nan(x, of(0)), a, __hmax2_nan(x, of(0))));
      case Function::Kind::addition:
        return with_overflow_kept(__hadd2(x, reinterpret_cast<const Word*>(function.other)[place]));
      default:  // a line
        return with_overflow_kept(__hfma2(x, a, of(function.b)));
    }
  }
  /// Functions of a number that may be infinite.
  static __device__ Word applied(const Functions& functions, Word x, std::size_t place) {
    x = with_overflow_kept(x);
    for (Index i = 0; i < functions.count; ++i) x = applied(functions.all[i], x, place);
    return x;
  }
  static __device__ Word result(Word sum, Word bias, const Functions& functions, std::size_t place) {
    return applied(functions, __hadd2(sum, bias), place);
  }
};

/// Calls work(i, place) for each word i of halves, with the place of its two numbers in images32; beyond the last of
/// `blocks` blocks there is none.
template <class Work>
__device__ void for_each_pair(std::size_t blocks, std::size_t elements, const Work& work) {
  for_each_element((blocks + 1) / 2 * elements, kLanes, [&](std::size_t i, Index lane) {
    const std::size_t block = i / elements * 2 + lane / (kLanes / 2);
    const std::size_t pair = lane % (kLanes / 2);
    work(i * kLanes + lane, block < blocks, ((block * elements + i % elements) * kLanes) / 2 + pair);
  });
}

__global__ void __launch_bounds__(kElementThreads)
    to_halves_kernel(const float2* from, std::size_t blocks, std::size_t elements,
                     const __grid_constant__ Functions functions, __half2* to) {
  for_each_pair(blocks, elements, [&](std::size_t word, bool exists, std::size_t pair) {
    to[word] = exists ? Halves::applied(functions, __float22half2_rn(from[pair]), word) : __half2{};
  });
}

__global__ void __launch_bounds__(kElementThreads)
    from_halves_kernel(const __half2* from, std::size_t blocks, std::size_t elements, float2* to) {
  for_each_pair(blocks, elements, [&](std::size_t word, bool exists, std::size_t pair) {
    if (exists) to[pair] = __half22float2(from[word]);
  });
}

}  // namespace

void convolve_halves_by_taps(const DirectShape& shape, const Index* begins, const Tap* taps, const float* bias,
                             const float* x, const Functions& functions, float* y, cudaStream_t stream) {
  launch_taps_kernel<Halves>(shape, begins, taps, bias, reinterpret_cast<const __half2*>(x), functions,
                             reinterpret_cast<__half2*>(y), stream);
}

void images32_to_halves(const float* from, std::size_t blocks, std::size_t elements, const Functions& functions,
                        std::byte* to, cudaStream_t stream) {
  launch_overlapped(to_halves_kernel, element_blocks((blocks + 1) / 2 * elements, kLanes), kElementThreads, 0, stream,
                    reinterpret_cast<const float2*>(from), blocks, elements, functions, reinterpret_cast<__half2*>(to));
}

void halves_to_images32(const std::byte* from, std::size_t blocks, std::size_t elements, float* to,
                        cudaStream_t stream) {
  launch_overlapped(from_halves_kernel, element_blocks((blocks + 1) / 2 * elements, kLanes), kElementThreads, 0, stream,
                    reinterpret_cast<const __half2*>(from), blocks, elements, reinterpret_cast<float2*>(to));
}

}  // namespace spdnn::cuda
