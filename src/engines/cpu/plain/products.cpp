// Products of two values that are matrices, and reductions over axes.

#include <algorithm>
#include <limits>

#include "core/types/shape.hpp"
#include "engines/cpu/plain/kernels.hpp"
#include "model/operations/broadcast.hpp"

namespace spdnn::plain {

namespace {

Extent elements_of(const Shape& shape) { return static_cast<Extent>(elements(shape).value()); }

/// Matrices rows x terms and terms x columns, or the second as columns x terms, for each place of the axes before.
struct Product {
  Shape batch;
  std::vector<std::size_t> a_strides;
  std::vector<std::size_t> b_strides;
  Extent rows;
  Extent terms;
  Extent columns;
  bool transposed;

  void run(const float* a, const float* b, float* y) const {
    const Extent lines = elements_of(batch) * rows;
#pragma omp parallel for schedule(static)
    for (Extent line = 0; line < lines; ++line) {
      const auto place = static_cast<std::size_t>(line / rows);
      const float* const left =
          a + (static_cast<Extent>(rules::place_of(place, batch, a_strides)) * rows + line % rows) * terms;
      const float* const right = b + static_cast<Extent>(rules::place_of(place, batch, b_strides)) * terms * columns;
      float* const row = y + line * columns;
      transposed ? by_dots(left, right, row) : by_rows(left, right, row);
    }
  }
  void by_rows(const float* left, const float* right, float* row) const {
    std::fill_n(row, columns, 0.F);
    for (Extent k = 0; k < terms; ++k)
      for (Extent j = 0; j < columns; ++j) row[j] += left[k] * right[k * columns + j];
  }
  void by_dots(const float* left, const float* right, float* row) const {
    for (Extent j = 0; j < columns; ++j) {
      float sum = 0;
      for (Extent k = 0; k < terms; ++k) sum += left[k] * right[j * terms + k];
      row[j] = sum;
    }
  }
};

float first_of(Reduce::Kind kind) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (kind == Reduce::Kind::sum) return 0;
  if (kind == Reduce::Kind::product) return 1;
  return kind == Reduce::Kind::maximum ? -kInfinity : kInfinity;
}

float reduced(Reduce::Kind kind, float a, float b) {
  if (kind == Reduce::Kind::sum) return a + b;
  if (kind == Reduce::Kind::product) return a * b;
  return kind == Reduce::Kind::maximum ? std::max(a, b) : std::min(a, b);
}

/// The elements of a shape, or some of its axes, as offsets in an array of these strides.
std::vector<Extent> offsets_of(const Shape& shape, const std::vector<Extent>& strides) {
  std::vector<Extent> offsets{0};
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    std::vector<Extent> longer;
    for (const Extent offset : offsets)
      for (Extent i = 0; i < shape[axis]; ++i) longer.push_back(offset + i * strides[axis]);
    offsets = std::move(longer);
  }
  return offsets;
}

}  // namespace

std::vector<Offer> matrix_product(const Request& request, const MatMul& node) {
  const Shape& a = request.inputs[0].shape;
  const Shape& b = request.inputs[1].shape;
  const Shape& y = request.output_shape();
  const auto outer = [](const Shape& shape) { return Shape(shape.begin(), shape.end() - 2); };
  const Product product{outer(y),
                        rules::repeated_strides(outer(a), outer(y)),
                        rules::repeated_strides(outer(b), outer(y)),
                        y[y.size() - 2],
                        a.back(),
                        y.back(),
                        node.transposed};
  return only(pass(request, {kRows, kRows}, kRows,
                   [=](const Operands& at) { product.run(at.floats(0), at.floats(1), at.results()); }));
}

std::vector<Offer> reduction(const Request& request, const Reduce& reduce) {
  const Shape& x = request.inputs[0].shape;
  const std::vector<Extent> strides = strides_of(x);
  Shape over(x.size(), 1);
  for (const Index axis : reduce.axes) over[axis] = x[axis];
  const std::vector<Extent> places = offsets_of(request.output_shape(), strides);
  const std::vector<Extent> terms = offsets_of(over, strides);
  return only(pass(request, {kRows}, kRows, [=, kind = reduce.kind](const Operands& at) {
    const float* const input = at.floats(0);
    float* const output = at.results();
    const auto count = static_cast<Extent>(places.size());
#pragma omp parallel for schedule(static)
    for (Extent i = 0; i < count; ++i) {
      float result = first_of(kind);
      for (const Extent term : terms) result = reduced(kind, result, input[places[static_cast<std::size_t>(i)] + term]);
      output[i] = result;
    }
  }));
}

}  // namespace spdnn::plain
