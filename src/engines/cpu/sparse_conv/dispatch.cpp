#include "engines/cpu/sparse_conv/dispatch.hpp"

#include "engines/cpu/lanes/runnable.hpp"

namespace spdnn::sparse_conv {

const std::vector<const Kernels*>& available_kernels() {
  static const auto available = lanes::runnable(avx512_kernels(), avx2_kernels(), portable_kernels());
  return available;
}

}  // namespace spdnn::sparse_conv
