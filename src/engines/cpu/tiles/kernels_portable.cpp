// The kernels of cpu_openmp in the instruction set that the whole program is compiled for.

#include "engines/cpu/tiles/kernels_impl.hpp"

namespace spdnn::tiles {

template <class T>
const Kernels<T>* portable_kernels() {
  static constexpr Kernels<T> kKernels = kernels_named<T>("portable");
  return &kKernels;
}

template const Kernels<float>* portable_kernels<float>();
template const Kernels<double>* portable_kernels<double>();

}  // namespace spdnn::tiles
