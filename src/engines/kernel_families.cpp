#include "engines/kernel_families.hpp"

#ifdef SPDNN_WITH_CUDA
#define SPDNN_CUDA_KERNELS(name, zeros, ...) SPDNN_KERNELS(name, cuda, zeros, __VA_ARGS__)
#else
#define SPDNN_CUDA_KERNELS(name, zeros, ...)
#endif

namespace spdnn {

#define SPDNN_KERNELS SPDNN_DECLARE_KERNELS
#include "engines/kernels.def"
#undef SPDNN_KERNELS

const std::vector<program::Family>& kernel_families() {
  static const std::vector<program::Family> all = {
#define SPDNN_KERNELS SPDNN_LIST_KERNELS
#include "engines/kernels.def"
#undef SPDNN_KERNELS
  };
  return all;
}

}  // namespace spdnn
