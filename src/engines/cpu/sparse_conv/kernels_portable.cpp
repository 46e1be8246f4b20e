// The loops of sparse_conv in the instruction set that the whole program is compiled for.

#include "engines/cpu/sparse_conv/kernels_impl.hpp"

namespace spdnn::sparse_conv {

const Kernels* portable_kernels() {
  static constexpr Kernels kKernels = kernels_named("portable");
  return &kKernels;
}

}  // namespace spdnn::sparse_conv
