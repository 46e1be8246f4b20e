// Batch norm, and two values element by element.

#include <algorithm>
#include <array>
#include <limits>

#include "model/operations/broadcast.hpp"
#include "model/operations/operations.hpp"
#include "model/operations/requirements.hpp"

namespace spdnn::rules {

namespace {

/// NaN stays NaN.
Point larger(const Point& a, const Point& b) {
  const double value = std::isnan(a.value) || a.value > b.value ? a.value : b.value;
  return {value, std::max({a.value + a.bound - value, b.value + b.bound - value, 0.0})};
}

/// The value farthest away over a rectangle of arguments lies in a corner, as long as bases are positive, or the
/// exponent is an exact whole number and there is no pole.
Point power(const Point& a, const Point& b) {
  const double value = std::pow(a.value, b.value);
  const double low = a.value - a.bound;
  const double high = a.value + a.bound;
  const bool whole = b.bound == 0 && b.value == std::trunc(b.value);
  const bool pole = low <= 0 && high >= 0 && b.value - b.bound < 0;
  if (std::isnan(value) || pole || (low < 0 && !whole)) return {value, kUnbounded};
  double spread = 0;
  for (const double exponent : {b.value - b.bound, b.value + b.bound})
    for (const double base : {low, high}) spread = std::max(spread, std::abs(std::pow(base, exponent) - value));
  return {value, spread + kFunction * (std::abs(value) + spread) + 2 * kUnderflow};
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
    case Elementwise::Kind::maximum:
      return larger(a, b);
    case Elementwise::Kind::minimum: {
      const Point least = larger({-a.value, a.bound}, {-b.value, b.bound});
      return {-least.value, least.bound};
    }
    case Elementwise::Kind::power:
      return power(a, b);
    case Elementwise::Kind::divide:
      break;
  }
  const double value = a.value / b.value;
  const double room = std::abs(b.value) - b.bound;
  if (!(room > 0)) return {value, kUnbounded};
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
  static constexpr std::array<std::string_view, 7> kNames{"add",     "subtract", "multiply", "divide",
                                                          "maximum", "minimum",  "power"};
  return kNames.at(static_cast<std::size_t>(elementwise.kind));
}

void check(const Elementwise& /*operation*/) {}

Shape shape(const Elementwise& /*operation*/, const std::vector<Shape>& inputs) {
  require_inputs(inputs, 2);
  return broadcast(inputs[0], inputs[1], inputs);
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
    case Elementwise::Kind::maximum:
    case Elementwise::Kind::minimum:
      return all_at_most(std::max(operands.largest[0], operands.largest[1]));
    case Elementwise::Kind::power:
      return {std::max(operands.largest[0], operands.largest[1]), kUnbounded};
    case Elementwise::Kind::divide:
      break;
  }
  const double divisor = smallest_of(*operands.values[1]);
  return {operands.largest[0], divisor == 0 ? kUnbounded : operands.largest[0] / divisor};
}

}  // namespace spdnn::rules
