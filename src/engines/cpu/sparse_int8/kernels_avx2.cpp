// The loops of sparse_int8 in AVX2. The Makefile compiles this file with -mavx2 -mfma on x86-64.

#include "engines/cpu/sparse_int8/kernels_impl.hpp"

namespace spdnn::sparse_int8 {

const Kernels* avx2_kernels() {
#if defined(__AVX2__)
  static constexpr Kernels kKernels = kernels_named("AVX2");
  return &kKernels;
#else
  return nullptr;
#endif
}

}  // namespace spdnn::sparse_int8
