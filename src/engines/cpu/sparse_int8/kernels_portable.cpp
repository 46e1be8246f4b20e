// The loops of sparse_int8 in the instruction set that the whole program is compiled for.

#include "engines/cpu/sparse_int8/kernels_impl.hpp"

namespace spdnn::sparse_int8 {

const Kernels* portable_kernels() {
  static constexpr Kernels kKernels = kernels_named("portable");
  return &kKernels;
}

}  // namespace spdnn::sparse_int8
