#include "engines/kernel_families.hpp"

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
