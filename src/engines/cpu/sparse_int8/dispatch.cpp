#include "engines/cpu/sparse_int8/dispatch.hpp"

#include "engines/cpu/lanes/runnable.hpp"

namespace spdnn::sparse_int8 {

const std::vector<const Kernels*>& available_kernels() {
  static const std::vector<const Kernels*> available = [] {
    std::vector<const Kernels*> found = lanes::runnable(avx512_kernels(), avx2_kernels(), portable_kernels());
    if (lanes::runs_avx512vnni() && avx512vnni_kernels() != nullptr) found.insert(found.begin(), avx512vnni_kernels());
    return found;
  }();
  return available;
}

}  // namespace spdnn::sparse_int8
