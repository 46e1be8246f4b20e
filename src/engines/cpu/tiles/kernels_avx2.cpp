// The kernels of cpu_openmp in AVX2. The Makefile compiles this file with -mavx2 on x86-64.

#include "engines/cpu/tiles/kernels_impl.hpp"

namespace spdnn::tiles {

template <class T>
const Kernels<T>* avx2_kernels() {
#if defined(__AVX2__)
  static constexpr Kernels<T> kKernels = kernels_named<T>("AVX2");
  return &kKernels;
#else
  return nullptr;
#endif
}

template const Kernels<float>* avx2_kernels<float>();
template const Kernels<double>* avx2_kernels<double>();

}  // namespace spdnn::tiles
