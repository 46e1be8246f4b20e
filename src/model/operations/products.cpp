// Products of two values that are matrices, and reductions over axes.

#include <algorithm>
#include <array>
#include <functional>
#include <limits>

#include "core/types/shape.hpp"
#include "model/operations/broadcast.hpp"
#include "model/operations/operations.hpp"
#include "model/operations/requirements.hpp"

namespace spdnn::rules {

namespace {

/// The axes before the matrices.
Shape outer(const Shape& shape) { return {shape.begin(), shape.end() - 2}; }

double product_of(const Shape& shape, const std::vector<Index>& axes) {
  double product = 1;
  for (const Index axis : axes) product *= static_cast<double>(shape[axis]);
  return product;
}

/// The elements of one result, as they come.
class Reduced {
 public:
  explicit Reduced(Reduce::Kind kind) : kind_(kind), falls_(kind == Reduce::Kind::minimum ? -1 : 1) {}

  void add(double x, double e) {
    switch (kind_) {
      case Reduce::Kind::sum:
        return sum_.add(1, x, e);
      case Reduce::Kind::product: {
        spread_ = spread_ * (std::abs(x) + e) + std::abs(product_) * e;
        product_ *= x;
        return;
      }
      case Reduce::Kind::maximum:
      case Reduce::Kind::minimum:
        if (falls_ * x > largest_ || std::isnan(x)) largest_ = falls_ * x;
        upper_ = std::max(upper_, falls_ * x + e);
    }
  }
  Point result(double terms) const {
    if (kind_ == Reduce::Kind::sum) return {sum_.value, sum_.bound(terms + 3)};
    if (kind_ == Reduce::Kind::product)
      return {product_, spread_ + gamma(terms + 1) * (std::abs(product_) + spread_) + 2 * terms * kUnderflow};
    return {falls_ * largest_, upper_ - largest_};
  }

 private:
  static constexpr double kLeast = -std::numeric_limits<double>::infinity();
  Reduce::Kind kind_;
  double falls_;
  Sum sum_;
  double product_ = 1;
  double spread_ = 0;
  double largest_ = kLeast;
  double upper_ = kLeast;
};

}  // namespace

std::string_view name(const MatMul& /*operation*/) { return "matrix product"; }

void check(const MatMul& /*operation*/) {}

Shape shape(const MatMul& product, const std::vector<Shape>& inputs) {
  require_inputs(inputs, 2);
  const Shape& a = inputs[0];
  Shape b = inputs[1];
  const auto matrices = [](const Shape& shape) {
    return shape.size() >= 2 && !(shape.size() == 2 && has_batch(shape)) && shape.size() <= 8;
  };
  // Rows of a may be the images; b is a value of each image, or of all.
  const bool rows_are_images = a.size() == 2 && has_batch(a) && b.size() == 2 && !has_batch(b);
  if (!(matrices(a) || rows_are_images) || !matrices(b))
    refuse("multiplies matrices, not " + shape_text(a) + " and " + shape_text(b));
  if (product.transposed) std::swap(b[b.size() - 1], b[b.size() - 2]);
  if (a.back() != b[b.size() - 2]) refuse(shape_text(a) + " and " + shape_text(inputs[1]) + " do not fit");
  Shape shape = broadcast(outer(a), outer(b), inputs);
  shape.push_back(a[a.size() - 2]);
  shape.push_back(b.back());
  return shape;
}

void evaluate(const MatMul& product, const std::vector<const Bounded*>& inputs, Bounded& y) {
  const Bounded& a = *inputs[0];
  const Bounded& b = *inputs[1];
  const Shape batch = outer(y.shape);
  const auto rows = static_cast<std::size_t>(y.shape[y.shape.size() - 2]);
  const auto columns = static_cast<std::size_t>(y.shape.back());
  const auto terms = static_cast<std::size_t>(a.shape.back());
  const std::array strides{repeated_strides(outer(a.shape), batch), repeated_strides(outer(b.shape), batch)};
  y.terms = terms;
  parallel_for(rows == 0 || columns == 0 ? 0 : y.values.size() / columns, [&](std::size_t line) {
    const std::size_t a_begin = (place_of(line / rows, batch, strides[0]) * rows + line % rows) * terms;
    const std::size_t b_begin = place_of(line / rows, batch, strides[1]) * terms * columns;
    for (std::size_t j = 0; j < columns; ++j) {
      Sum sum;
      double spread = 0;  // of the factors of the sum, which are off, too
      for (std::size_t k = 0; k < terms; ++k) {
        const std::size_t i = a_begin + k;
        const std::size_t l = b_begin + (product.transposed ? j * terms + k : k * columns + j);
        sum.add(a.values[i], b.values[l], b.bounds[l]);
        spread += a.bounds[i] * (std::abs(b.values[l]) + b.bounds[l]);
      }
      sum.magnitude += spread;
      set(y, line * columns + j, {sum.value, sum.bound(static_cast<double>(terms) + 3) + spread});
    }
  });
}

Magnitude magnitude(const MatMul& /*operation*/, const Operands& operands) {
  const double terms = static_cast<double>(operands.values[0]->shape.back());
  const bool nothing = operands.largest[0] == 0 || operands.largest[1] == 0;
  return all_at_most(nothing ? 0 : terms * operands.largest[0] * operands.largest[1]);
}

std::string_view name(const Reduce& reduce) {
  static constexpr std::array<std::string_view, 4> kNames{"sum over axes", "product over axes", "maximum over axes",
                                                          "minimum over axes"};
  return kNames.at(static_cast<std::size_t>(reduce.kind));
}

void check(const Reduce& reduce) {
  if (std::adjacent_find(reduce.axes.begin(), reduce.axes.end(), std::greater_equal<>()) != reduce.axes.end())
    invalid("its axes do not ascend");
}

Shape shape(const Reduce& reduce, const std::vector<Shape>& inputs) {
  Shape shape = only(inputs);
  for (const Index axis : reduce.axes) {
    const std::size_t at = checked_axis(axis, shape);
    if (shape[at] == kBatchExtent) refuse("axis 0 is the batch of " + shape_text(shape));
    if (shape[at] == 0) refuse("there is nothing along axis " + std::to_string(axis) + " of " + shape_text(shape));
    shape[at] = 1;
  }
  return shape;
}

void evaluate(const Reduce& reduce, const std::vector<const Bounded*>& inputs, Bounded& y) {
  const Bounded& x = *inputs[0];
  const double terms = product_of(x.shape, reduce.axes);
  if (reduce.kind == Reduce::Kind::sum) y.terms = static_cast<Offset>(terms);
  const std::vector<std::size_t> to = repeated_strides(y.shape, x.shape);
  std::vector<Reduced> results(y.values.size(), Reduced(reduce.kind));
  for (std::size_t i = 0; i < x.values.size(); ++i) results[place_of(i, x.shape, to)].add(x.values[i], x.bounds[i]);
  for (std::size_t i = 0; i < results.size(); ++i) set(y, i, results[i].result(terms));
}

Magnitude magnitude(const Reduce& reduce, const Operands& operands) {
  const double x = operands.largest[0];
  if (reduce.kind == Reduce::Kind::sum) return all_at_most(product_of(operands.values[0]->shape, reduce.axes) * x);
  if (reduce.kind == Reduce::Kind::product) return {x, kUnbounded};
  return all_at_most(x);
}

}  // namespace spdnn::rules
