// The loops of depthwise in AVX-512. The Makefile compiles this file with -mavx512* on x86-64.

#include "engines/cpu/depthwise/kernels_impl.hpp"

namespace spdnn::depthwise {

const Kernels* avx512_kernels() {
#if defined(__AVX512F__)
  static constexpr Kernels kKernels = kernels_named("AVX-512");
  return &kKernels;
#else
  return nullptr;
#endif
}

}  // namespace spdnn::depthwise
