// The kernels of cpu_openmp in AVX-512. The Makefile compiles this file with -mavx512* on x86-64.

#include "engines/cpu/tiles/kernels_impl.hpp"

namespace spdnn::tiles {

template <class T>
const Kernels<T>* avx512_kernels() {
#if defined(__AVX512F__)
  static constexpr Kernels<T> kKernels = kernels_named<T>("AVX-512");
  return &kKernels;
#else
  return nullptr;
#endif
}

template const Kernels<float>* avx512_kernels<float>();
template const Kernels<double>* avx512_kernels<double>();

}  // namespace spdnn::tiles
