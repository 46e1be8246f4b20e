// The loops of sparse_int8 in AVX-512. The Makefile compiles this file with -mavx512* on x86-64.

#include "engines/cpu/sparse_int8/kernels_impl.hpp"

namespace spdnn::sparse_int8 {

const Kernels* avx512_kernels() {
#if defined(__AVX512BW__)
  static constexpr Kernels kKernels = kernels_named("AVX-512");
  return &kKernels;
#else
  return nullptr;
#endif
}

}  // namespace spdnn::sparse_int8
