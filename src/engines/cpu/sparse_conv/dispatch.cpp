#include "engines/cpu/sparse_conv/dispatch.hpp"

namespace spdnn::sparse_conv {

const std::vector<const Kernels*>& available_kernels() {
  static const std::vector<const Kernels*> available = [] {
    std::vector<const Kernels*> found;
#if defined(__x86_64__)
    const bool has_avx512 = __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
                            __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0;
    const bool has_avx2 = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
    if (has_avx512 && avx512_kernels() != nullptr) found.push_back(avx512_kernels());
    if (has_avx2 && avx2_kernels() != nullptr) found.push_back(avx2_kernels());
#endif
    found.push_back(portable_kernels());
    return found;
  }();
  return available;
}

}  // namespace spdnn::sparse_conv
