// Operations that take elements from other places: pools, concats, transpositions, paddings and resizes.

#include "engines/cpu/plain/kernels.hpp"
#include "engines/cpu/plain/loops.hpp"
#include "engines/cpu/plain/pools.hpp"

namespace spdnn::plain {

namespace {

/// An axis of a tensor as it lies in memory. A sequence has four axes where its channels are innermost.
Index axis_in_memory(Order order, Index axis, std::size_t rank) {
  if (order != Order::nhwc) return axis;
  const Index of_image = rank == 3 && axis == 2 ? 3 : axis;
  constexpr Index kPlaces[] = {0, 3, 1, 2};
  return kPlaces[of_image];
}

}  // namespace

std::vector<Offer> pool(const Request& request, const Pool& pool) {
  const Shape from = request.inputs[0].shape;
  const Shape to = request.output_shape();
  const Layout layout = simple_layout(request.inputs[0]);
  const bool innermost = layout.order == Order::nhwc;
  return only(pass(request, {layout}, layout, [=, &pool](const Operands& at) {
    if (innermost)
      pool_channels(pool, from, to, at.floats(0), at.results());
    else
      plain::pool(pool, from, to, at.floats(0), at.results());
  }));
}

std::vector<Offer> global_pool(const Request& request, const GlobalPool& pool) {
  const Shape from = request.inputs[0].shape;
  const Layout layout = simple_layout(request.inputs[0]);
  const bool innermost = layout.order == Order::nhwc;
  return only(pass(request, {layout}, kRows, [=, &pool](const Operands& at) {
    plain::global_pool(pool, from, innermost, at.floats(0), at.results());
  }));
}

/// In the layout of the first input.
std::vector<Offer> concat(const Request& request, const Concat& concat) {
  const Layout layout = simple_layout(request.inputs[0]);
  std::vector<Shape> shapes;
  for (const program::Input& input : request.inputs)
    shapes.push_back(program::shape_in_memory(layout.order, input.shape));
  const Index axis = axis_in_memory(layout.order, concat.axis, request.output_shape().size());
  const std::vector<Layout> layouts(request.inputs.size(), layout);
  return only(pass(request, layouts, layout, [=](const Operands& at) {
    std::vector<const float*> inputs;
    for (std::size_t i = 0; i < shapes.size(); ++i) inputs.push_back(at.floats(i));
    plain::concat(shapes, axis, inputs, at.results());
  }));
}

std::vector<Offer> transpose(const Request& request, const Transpose& transpose) {
  const Shape from = request.inputs[0].shape;
  return only(pass(request, {kRows}, kRows, [=, &transpose](const Operands& at) {
    plain::transpose(transpose, from, at.floats(0), at.results());
  }));
}

std::vector<Offer> pad(const Request& request, const Pad& pad) {
  const Shape from = request.inputs[0].shape;
  return only(pass(request, {kRows}, kRows,
                   [=, &pad](const Operands& at) { plain::pad(pad, from, at.floats(0), at.results()); }));
}

std::vector<Offer> resize(const Request& request, const Resize& resize) {
  const Shape from = request.inputs[0].shape;
  constexpr double kPasses = 5;  // measured: elements along a row are interpolated one by one
  Offer offer = pass(request, {kRows}, kRows,
                     [=, &resize](const Operands& at) { plain::resize(resize, from, at.floats(0), at.results()); });
  offer.seconds *= kPasses;
  return only(std::move(offer));
}

}  // namespace spdnn::plain
