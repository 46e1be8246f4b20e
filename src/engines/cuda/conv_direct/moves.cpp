// Offers of operations that take elements from other places: paddings, transpositions, resizes.

#include "engines/cuda/conv_direct/moves.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <vector>

#include "core/types/shape.hpp"
#include "engines/cuda/conv_direct/kernels.hpp"
#include "model/operations/geometry.hpp"

namespace spdnn::cuda {

namespace {

using program::Layout;
using program::Offer;
using program::Operands;
using program::Request;

constexpr Extent kMostElements = Extent{1} << 28U;  ///< of an image, for which tables are made

/// `place`: of each element of the result's images, its place along every axis of the input; those outside of it are
/// filled in.
using PlaceAlong = std::function<Extent(std::size_t axis, const Shape& result)>;

void fill_table(const Shape& from, const Shape& to, const PlaceAlong& place, Index* table) {
  const std::vector<Extent> strides = strides_of(from);
  Shape at(to.size(), 0);
  const auto results = static_cast<std::size_t>(elements_of_image(to));
  for (std::size_t i = 0; i < results; ++i) {
    Extent offset = 0;
    bool exists = true;
    for (std::size_t axis = 1; axis < from.size(); ++axis) {
      const Extent along = place(axis, at);
      exists = exists && along >= 0 && along < from[axis];
      offset += along * strides[axis];
    }
    table[i] = exists ? static_cast<Index>(offset) : kNowhere;
    for (std::size_t axis = to.size() - 1; axis > 0 && ++at[axis] == to[axis]; --axis) at[axis] = 0;
  }
}

std::vector<Offer> gathered(const Request& request, const char* form, float fill, const PlaceAlong& place) {
  const Shape from = request.inputs[0].shape;
  const Shape to = request.output_shape();
  if (!has_images(request, 0) || std::max(elements_of_image(from), elements_of_image(to)) > kMostElements) return {};
  return in_both_layouts([&](const Layout& layout) {
    const Gathering gathering{.blocks = blocks_of(layout, to),
                              .together = images_together(layout),
                              .elements = static_cast<std::size_t>(elements_of_image(from)),
                              .results = static_cast<std::size_t>(elements_of_image(to)),
                              .fill = fill};
    Offer offer = element_offer(request, layout, [=](const Operands& at) {
      gather(at.floats(0), gathering, reinterpret_cast<const Index*>(at.constants[0]), at.results(),
             cudaStreamPerThread);
    });
    offer.constants.push_back(
        device_constant<Index>(form, gathering.results, [=](Index* table) { fill_table(from, to, place, table); }));
    return offer;
  });
}

}  // namespace

Offers pad_offers(const Request& request, const Pad& pad) {
  if (pad.begin.empty() || pad.begin[0] != 0 || pad.end[0] != 0) return {};
  return gathered(request, "places in the padded image", pad.value,
                  [begin = pad.begin](std::size_t axis, const Shape& at) { return at[axis] - begin[axis]; });
}

Offers transpose_offers(const Request& request, const Transpose& transpose) {
  if (transpose.order.empty() || transpose.order[0] != 0) return {};
  return gathered(request, "places before the transposition", 0,
                  [order = transpose.order](std::size_t axis, const Shape& at) {
                    return at[static_cast<std::size_t>(std::find(order.begin(), order.end(), axis) - order.begin())];
                  });
}

Offers resize_offers(const Request& request, const Resize& node) {
  if (!has_images(request, 0)) return {};
  const ImageExtents in = image_extents(request.inputs[0].shape);
  const ImageExtents out = image_extents(request.output_shape());
  const bool has_rows = request.output_shape().size() == 4;
  return in_both_layouts([&](const Layout& layout) {
    Resizing resizing{.planes = blocks_of(layout, request.output_shape()) * static_cast<std::size_t>(in.channels),
                      .together = images_together(layout),
                      .linear = node.kind == Resize::Kind::linear};
    for (std::size_t axis = 0; axis < 2; ++axis) {
      resizing.in[axis] = static_cast<Index>(in.spatial(axis));
      resizing.out[axis] = static_cast<Index>(out.spatial(axis));
    }
    Offer offer = element_offer(request, layout, [=](const Operands& at) {
      resize(at.floats(0), resizing, reinterpret_cast<const Interpolation*>(at.constants[0]), at.results(),
             cudaStreamPerThread);
    });
    const auto fill = [=](Interpolation* taps) {
      for (std::size_t axis = 0; axis < 2; ++axis)
        for (Extent i = 0; i < out.spatial(axis); ++i, ++taps) {
          *taps = {};
          if (axis == 0 && !has_rows) continue;
          if (!resizing.linear) {
            taps->first = static_cast<Index>(nearest_element(node, axis, in.spatial(axis), i));
            continue;
          }
          const Between between = between_elements(node, axis, in.spatial(axis), i);
          *taps = {static_cast<Index>(between.first), static_cast<Index>(between.second), between.weight};
        }
    };
    offer.constants.push_back(device_constant<Interpolation>("places of rows and columns",
                                                             std::size_t{resizing.out[0]} + resizing.out[1], fill));
    return offer;
  });
}

}  // namespace spdnn::cuda
