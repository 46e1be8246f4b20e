#include "spdnn/model.hpp"

namespace spdnn {

Tensor dense_filters(const Convolution& convolution) {
  const CsrMatrix& weights = convolution.weights;
  const auto [height, width] = convolution.window.kernel;
  const Extent channels = Extent{weights.cols} / height / width;
  return {{Extent{weights.rows}, channels, Extent{height}, Extent{width}}, dense_rows(weights, 0, weights.rows)};
}

}  // namespace spdnn
