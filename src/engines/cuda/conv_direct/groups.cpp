#include "engines/cuda/conv_direct/groups.hpp"

#include <utility>

namespace spdnn::cuda {

std::vector<DirectGroup> direct_groups(const ConvolutionShape& convolution, const CsrMatrix& weights) {
  DirectShape shape = direct_shape(convolution);
  shape.channels /= convolution.groups;
  shape.filters /= convolution.groups;
  std::vector<DirectGroup> groups;
  for (Index first = 0; first < weights.rows; first += shape.filters) {
    const Offset begin = weights.offsets[first];
    const Offset end = weights.offsets[first + shape.filters];
    std::vector<Offset> offsets;
    for (Index filter = first; filter <= first + shape.filters; ++filter)
      offsets.push_back(weights.offsets[filter] - begin);
    std::vector<float> values;
    for (Offset at = begin; at < end; ++at) values.push_back(weights.entry_value(at));
    groups.push_back({.shape = shape_to_tile(shape),
                      .weights = make_csr(shape.filters, weights.cols, std::move(offsets),
                                          {weights.indices.begin() + begin, weights.indices.begin() + end}, values),
                      .first_filter = first,
                      .x_at = groups.size() * shape.channels * shape.in_channel,
                      .y_at = groups.size() * shape.filters * shape.out_channel});
  }
  return groups;
}

}  // namespace spdnn::cuda
