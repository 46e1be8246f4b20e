// Offers of operations by channel and along axes: batch norms, softmax, reductions.

#include "engines/cuda/conv_direct/axes.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/types/shape.hpp"
#include "engines/cuda/conv_direct/kernels.hpp"

namespace spdnn::cuda {

namespace {

using program::Layout;
using program::Offer;
using program::Operands;
using program::Request;

/// The product of the extents from one axis to another, exclusive.
std::size_t extent_of(const Shape& shape, std::size_t first, std::size_t last) {
  std::size_t product = 1;
  for (std::size_t axis = first; axis < last; ++axis) product *= static_cast<std::size_t>(shape[axis]);
  return product;
}

/// The offsets of a shape's elements in an image of these strides, in order.
std::vector<Index> offsets_of(const Shape& shape, const std::vector<Extent>& strides) {
  std::vector<Index> offsets{0};
  for (std::size_t axis = 1; axis < shape.size(); ++axis) {
    std::vector<Index> longer;
    for (const Index offset : offsets)
      for (Extent i = 0; i < shape[axis]; ++i) longer.push_back(static_cast<Index>(offset + i * strides[axis]));
    offsets = std::move(longer);
  }
  return offsets;
}

}  // namespace

Offers batch_norm_offers(const Request& request, const BatchNorm& norm) {
  const Shape shape = request.output_shape();
  if (!has_images(request, 0) || shape.size() < 2) return {};
  const auto channels = static_cast<std::size_t>(shape[1]);
  const std::size_t plane = extent_of(shape, 2, shape.size());
  return in_both_layouts([&](const Layout& layout) {
    const Index together = images_together(layout);
    const std::size_t blocks = blocks_of(layout, shape);
    Offer offer = element_offer(request, layout, [=](const Operands& at) {
      normalize(at.floats(0), blocks, together, channels, plane,
                reinterpret_cast<const Normalization*>(at.constants[0]), at.results(), cudaStreamPerThread);
    });
    offer.constants.push_back(device_constant<Normalization>(
        "mean, factor and shift per channel", channels, [&norm, channels](Normalization* all) {
          for (std::size_t c = 0; c < channels; ++c)
            all[c] = {norm.mean[c], norm.scale[c] / std::sqrt(norm.variance[c] + norm.epsilon), norm.shift[c]};
        }));
    return offer;
  });
}

Offers softmax_offers(const Request& request, const Softmax& node) {
  const Shape shape = request.output_shape();
  if (!has_images(request, 0) || node.axis == 0) return {};
  const auto length = static_cast<std::size_t>(shape[node.axis]);
  const std::size_t inner = extent_of(shape, node.axis + std::size_t{1}, shape.size());
  const std::size_t lines = extent_of(shape, 1, node.axis) * inner;
  return in_both_layouts([&](const Layout& layout) {
    return element_offer(
        request, layout,
        [=, blocks = blocks_of(layout, shape), together = images_together(layout)](const Operands& at) {
          softmax(at.floats(0), blocks * lines, together, length, inner, at.results(), cudaStreamPerThread);
        });
  });
}

Offers reduce_offers(const Request& request, const Reduce& node) {
  if (!has_images(request, 0) || std::find(node.axes.begin(), node.axes.end(), Index{0}) != node.axes.end()) return {};
  const Shape from = request.inputs[0].shape;
  const Shape to = request.output_shape();
  Shape over(from.size(), 1);
  for (const Index axis : node.axes) over[axis] = from[axis];
  const std::size_t terms = extent_of(over, 1, over.size());
  if (terms == 0) return {};
  return in_both_layouts([&](const Layout& layout) {
    const Reduction reduction{.kind = node.kind == Reduce::Kind::sum       ? Reduction::Kind::sum
                                      : node.kind == Reduce::Kind::product ? Reduction::Kind::product
                                      : node.kind == Reduce::Kind::maximum ? Reduction::Kind::maximum
                                                                           : Reduction::Kind::minimum,
                              .blocks = blocks_of(layout, to),
                              .together = images_together(layout),
                              .elements = static_cast<std::size_t>(elements_of_image(from)),
                              .results = static_cast<std::size_t>(elements_of_image(to)),
                              .terms = terms};
    Offer offer = element_offer(request, layout, [=](const Operands& at) {
      reduce_axes(at.floats(0), reduction, reinterpret_cast<const Index*>(at.constants[0]), at.results(),
                  cudaStreamPerThread);
    });
    offer.constants.push_back(
        device_constant<Index>("places of the results and the terms", reduction.results + terms, [=](Index* places) {
          const std::vector<Extent> strides = strides_of(from);
          std::ranges::copy(offsets_of(over, strides), std::ranges::copy(offsets_of(to, strides), places).out);
        }));
    return offer;
  });
}

}  // namespace spdnn::cuda
