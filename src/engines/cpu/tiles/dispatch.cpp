#include "engines/cpu/tiles/dispatch.hpp"

#include "engines/cpu/lanes/runnable.hpp"

namespace spdnn::tiles {

template <class T>
const std::vector<const Kernels<T>*>& available_kernels() {
  static const auto available = lanes::runnable(avx512_kernels<T>(), avx2_kernels<T>(), portable_kernels<T>());
  return available;
}

template const std::vector<const Kernels<float>*>& available_kernels<float>();
template const std::vector<const Kernels<double>*>& available_kernels<double>();

}  // namespace spdnn::tiles
