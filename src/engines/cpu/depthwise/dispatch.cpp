#include "engines/cpu/depthwise/dispatch.hpp"

#include "engines/cpu/lanes/runnable.hpp"

namespace spdnn::depthwise {

const std::vector<const Kernels*>& available_kernels() {
  static const auto available = lanes::runnable(avx512_kernels(), avx2_kernels(), portable_kernels());
  return available;
}

}  // namespace spdnn::depthwise
