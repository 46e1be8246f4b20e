#include "engines/cpu/tiles/dispatch.hpp"

namespace spdnn::tiles {

namespace {

bool has_avx512() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
         __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0;
#else
  return false;
#endif
}

bool has_avx2() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx2") != 0;
#else
  return false;
#endif
}

}  // namespace

template <class T>
const std::vector<const Kernels<T>*>& available_kernels() {
  static const std::vector<const Kernels<T>*> available = [] {
    std::vector<const Kernels<T>*> found;
    if (has_avx512() && avx512_kernels<T>() != nullptr) found.push_back(avx512_kernels<T>());
    if (has_avx2() && avx2_kernels<T>() != nullptr) found.push_back(avx2_kernels<T>());
    found.push_back(portable_kernels<T>());
    return found;
  }();
  return available;
}

template const std::vector<const Kernels<float>*>& available_kernels<float>();
template const std::vector<const Kernels<double>*>& available_kernels<double>();

}  // namespace spdnn::tiles
