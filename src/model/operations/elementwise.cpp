// Batch norm, and two values element by element.

#include <algorithm>
#include <array>
#include <limits>

#include "model/operations/operations.hpp"
#include "model/operations/requirements.hpp"

namespace spdnn::rules {

namespace {

/// The stride of each axis of `shape` in `part`, which is broadcast along axes of length 1.
std::vector<std::size_t> repeated_strides(const Shape& part, const Shape& shape) {
  std::vector<std::size_t> strides(shape.size(), 0);
  std::size_t stride = 1;
  for (std::size_t axis = part.size(); axis-- > 0;) {
    if (part[axis] != 1) strides[shape.size() - part.size() + axis] = stride;
    stride *= static_cast<std::size_t>(part[axis]);
  }
  return strides;
}

std::size_t place_of(std::size_t element, const Shape& shape, const std::vector<std::size_t>& strides) {
  std::size_t place = 0;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    const auto extent = static_cast<std::size_t>(shape[axis]);
    place += element % extent * strides[axis];
    element /= extent;
  }
  return place;
}

Point combined(Elementwise::Kind kind, Point a, Point b, double terms) {
  const bool minus = kind == Elementwise::Kind::subtract;
  switch (kind) {
    case Elementwise::Kind::add:
    case Elementwise::Kind::subtract: {
      Sum sum;
      sum.add(1, a.value, a.bound);
      sum.add(minus ? -1 : 1, b.value, b.bound);
      return {sum.value, sum.bound(terms + 8)};
    }
    case Elementwise::Kind::multiply: {
      const double value = a.value * b.value;
      const double spread = a.bound * std::abs(b.value) + b.bound * std::abs(a.value) + a.bound * b.bound;
      return {value, spread + gamma(2) * (std::abs(value) + spread) + 2 * kUnderflow};
    }
    case Elementwise::Kind::divide:
      break;
  }
  const double value = a.value / b.value;
  const double room = std::abs(b.value) - b.bound;
  if (!(room > 0)) return {value, std::numeric_limits<double>::infinity()};
  const double spread = (a.bound + std::abs(value) * b.bound) / room;
  return {value, spread + gamma(3) * (std::abs(value) + spread) + 2 * kUnderflow};
}

/// The smallest absolute value; 0 if the values are not known.
double smallest_of(const Value& value) {
  if (!value.constant) return 0;
  double smallest = std::numeric_limits<double>::infinity();
  for (const float one : value.constant->values) smallest = std::min(smallest, std::abs(double{one}));
  return smallest;
}

}  // namespace

std::string_view name(const BatchNorm& /*operation*/) { return "batch norm"; }

void check(const BatchNorm& norm) {
  const std::size_t channels = norm.scale.size();
  if (norm.shift.size() != channels || norm.mean.size() != channels || norm.variance.size() != channels)
    invalid("its scale, shift, mean and variance differ in length");
  require_finite(norm.scale, "its scale");
  require_finite(norm.shift, "its shift");
  require_finite(norm.mean, "its mean");
  require_finite(norm.variance, "its variance");
  const auto positive = [&](float variance) { return double{variance} + double{norm.epsilon} > 0; };
  if (!std::isfinite(norm.epsilon) || !std::all_of(norm.variance.begin(), norm.variance.end(), positive))
    invalid("its variance and epsilon must add up to more than zero");
}

Shape shape(const BatchNorm& norm, const std::vector<Shape>& inputs) {
  const Shape& shape = only(inputs);
  if (shape.size() < 2 || shape[1] != static_cast<Extent>(norm.scale.size()))
    refuse(std::to_string(norm.scale.size()) + " channels do not fit " + shape_text(shape));
  return shape;
}

void evaluate(const BatchNorm& norm, const std::vector<const Bounded*>& inputs, Bounded& y) {
  const Bounded& x = *inputs[0];
  y.terms = x.terms;
  const std::size_t size = channel_size(x.shape);
  for_elements(y, [&](std::size_t i) {
    const std::size_t channel = i / size % norm.scale.size();
    const double factor = norm.scale[channel] / std::sqrt(double{norm.variance[channel]} + double{norm.epsilon});
    Sum sum;
    sum.add(factor, x.values[i], x.bounds[i]);
    sum.add(-factor, norm.mean[channel], 0);
    sum.add(1, norm.shift[channel], 0);
    set(y, i,
        {(x.values[i] - norm.mean[channel]) * factor + norm.shift[channel],
         sum.bound(static_cast<double>(x.terms) + 8)});
  });
}

Magnitude magnitude(const BatchNorm& norm, const Operands& operands) {
  double largest = 0;
  for (std::size_t k = 0; k < norm.scale.size(); ++k) {
    const double factor =
        std::abs(norm.scale[k]) / std::min(1.0, std::sqrt(double{norm.variance[k]} + double{norm.epsilon}));
    largest = std::max(
        largest, (operands.largest[0] + std::abs(norm.mean[k])) * std::max(factor, 1.0) + std::abs(norm.shift[k]));
  }
  return all_at_most(largest);
}

std::string_view name(const Elementwise& elementwise) {
  static constexpr std::array<std::string_view, 4> kNames{"add", "subtract", "multiply", "divide"};
  return kNames.at(static_cast<std::size_t>(elementwise.kind));
}

void check(const Elementwise& /*operation*/) {}

Shape shape(const Elementwise& /*operation*/, const std::vector<Shape>& inputs) {
  require_inputs(inputs, 2);
  const auto mismatch = [&] { refuse(shape_text(inputs[0]) + " and " + shape_text(inputs[1]) + " do not fit"); };
  const bool first_is_longer = inputs[0].size() >= inputs[1].size();
  Shape shape = inputs[first_is_longer ? 0 : 1];
  const Shape& other = inputs[first_is_longer ? 1 : 0];
  const std::size_t ahead = shape.size() - other.size();
  if (ahead > 0 && has_batch(other)) mismatch();
  for (std::size_t axis = 0; axis < other.size(); ++axis) {
    Extent& extent = shape[ahead + axis];
    if (extent == 1)
      extent = other[axis];
    else if (other[axis] != extent && other[axis] != 1)
      mismatch();
  }
  return shape;
}

void evaluate(const Elementwise& elementwise, const std::vector<const Bounded*>& inputs, Bounded& y) {
  const Bounded& a = *inputs[0];
  const Bounded& b = *inputs[1];
  const Offset terms = std::max(a.terms, b.terms);
  const bool sum = elementwise.kind == Elementwise::Kind::add || elementwise.kind == Elementwise::Kind::subtract;
  y.terms = terms + (sum ? 1 : 0);
  const std::vector<std::size_t> a_strides = repeated_strides(a.shape, y.shape);
  const std::vector<std::size_t> b_strides = repeated_strides(b.shape, y.shape);
  for_elements(y, [&](std::size_t i) {
    const std::size_t in_a = place_of(i, y.shape, a_strides);
    const std::size_t in_b = place_of(i, y.shape, b_strides);
    set(y, i,
        combined(elementwise.kind, {a.values[in_a], a.bounds[in_a]}, {b.values[in_b], b.bounds[in_b]},
                 static_cast<double>(terms)));
  });
}

Magnitude magnitude(const Elementwise& elementwise, const Operands& operands) {
  switch (elementwise.kind) {
    case Elementwise::Kind::add:
    case Elementwise::Kind::subtract:
      return all_at_most(operands.largest[0] + operands.largest[1]);
    case Elementwise::Kind::multiply:
      return all_at_most(
          operands.largest[0] == 0 || operands.largest[1] == 0 ? 0 : operands.largest[0] * operands.largest[1]);
    case Elementwise::Kind::divide:
      break;
  }
  const double divisor = smallest_of(*operands.values[1]);
  return {operands.largest[0], divisor == 0 ? std::numeric_limits<double>::infinity() : operands.largest[0] / divisor};
}

}  // namespace spdnn::rules
