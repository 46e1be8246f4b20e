// Batch norm, activations, elementwise operations and softmax: what works on elements where they are.

#include <algorithm>
#include <limits>

#include "core/parallel.hpp"
#include "model/oracle/operations.hpp"

namespace spdnn::reference {

namespace {

/// What a library's exp or tanh may be off, in units of kUnit of values near 1.
constexpr double kFunction = 32 * kUnit;

/// Calls work(i) for each element, in parallel over axis 0.
template <class Work>
void for_elements(const Bounded& y, const Work& work) {
  const std::size_t images = y.shape.empty() || y.values.empty() ? 1 : static_cast<std::size_t>(y.shape[0]);
  const std::size_t length = y.values.size() / images;
  parallel_for(images, [&](std::size_t image) {
    for (std::size_t i = image * length; i < (image + 1) * length; ++i) work(i);
  });
}

/// Elements that lie together for one index of axis 1.
std::size_t channel_size(const Shape& shape) {
  std::size_t size = 1;
  for (std::size_t axis = 2; axis < shape.size(); ++axis) size *= static_cast<std::size_t>(shape[axis]);
  return size;
}

struct Point {
  double value;
  double bound;
};

double hard_sigmoid(double alpha, double beta, double x) { return std::clamp(alpha * x + beta, 0.0, 1.0); }

/// The value of a function that nowhere turns from rising to falling, and how far it is from those at the ends of where
/// its argument may be.
template <class Function>
Point monotonic(const Function& function, double x, double e) {
  const double value = function(x);
  return {value, e == 0 ? 0 : std::max(std::abs(function(x + e) - value), std::abs(function(x - e) - value))};
}

/// What is no number stays none: no function hides it.
Point activated(const Activation& activation, double alpha, double x, double e) {
  const double reach = std::abs(x) + e;
  switch (activation.kind) {
    case Activation::Kind::relu:
      return monotonic([](double v) { return v < 0 ? 0 : v; }, x, e);
    case Activation::Kind::clip:
      return monotonic([&](double v) { return std::clamp(v, double{activation.low}, double{activation.high}); }, x, e);
    case Activation::Kind::leaky_relu:
    case Activation::Kind::prelu: {
      const double rounding = x - e < 0 ? gamma(2) * std::abs(alpha) * reach + 2 * kUnderflow : 0;
      return {x < 0 ? alpha * x : x,
              std::max(x + e <= 0 ? 0.0 : 1.0, x - e >= 0 ? 0.0 : std::abs(alpha)) * e + rounding};
    }
    case Activation::Kind::sigmoid: {
      const Point point = monotonic([](double v) { return 1 / (1 + std::exp(-v)); }, x, e);
      return {point.value, std::min(1.0, point.bound + kFunction)};
    }
    case Activation::Kind::tanh: {
      const Point point = monotonic([](double v) { return std::tanh(v); }, x, e);
      return {point.value, std::min(2.0, point.bound + kFunction)};
    }
    case Activation::Kind::hard_sigmoid: {
      const double beta = activation.beta;
      const Point point = monotonic([&](double v) { return hard_sigmoid(alpha, beta, v); }, x, e);
      const double rounding = gamma(4) * (std::abs(alpha) * reach + std::abs(beta)) + 4 * kUnderflow;
      return {point.value, std::min(1.0, point.bound + rounding)};
    }
    case Activation::Kind::hard_swish: {
      const double slope = x + e <= -3 ? 0 : x - e >= 3 ? 1 : 1.5;
      return {x * hard_sigmoid(1.0 / 6, 0.5, x), slope * e + gamma(8) * reach + 4 * kUnderflow};
    }
    case Activation::Kind::identity:
      break;
  }
  return {x, e};
}

}  // namespace

Bounded normalise(const BatchNorm& norm, const Bounded& x) {
  Bounded y = blank(output_shape(norm, {x.shape}));
  y.terms = x.terms;
  const std::size_t size = channel_size(x.shape);
  for_elements(y, [&](std::size_t i) {
    const std::size_t channel = i / size % norm.scale.size();
    const double factor = norm.scale[channel] / std::sqrt(double{norm.variance[channel]} + double{norm.epsilon});
    Sum sum;
    sum.add(factor, x.values[i], x.bounds[i]);
    sum.add(-factor, norm.mean[channel], 0);
    sum.add(1, norm.shift[channel], 0);
    y.values[i] = (x.values[i] - norm.mean[channel]) * factor + norm.shift[channel];
    y.bounds[i] = sum.bound(static_cast<double>(x.terms) + 8);
  });
  return y;
}

Bounded activate(const Activation& activation, const Bounded& x) {
  Bounded y = blank(output_shape(activation, {x.shape}));
  if (activation.kind == Activation::Kind::identity) y.terms = x.terms;
  const std::size_t size = channel_size(x.shape);
  const bool by_channel = activation.kind == Activation::Kind::prelu;
  for_elements(y, [&](std::size_t i) {
    const double alpha = by_channel ? activation.alphas[i / size % activation.alphas.size()] : activation.alpha;
    const Point point = activated(activation, alpha, x.values[i], x.bounds[i]);
    y.values[i] = point.value;
    y.bounds[i] = point.bound;
  });
  return y;
}

namespace {

/// For each axis of `shape`, how far apart its elements lie in `part`, which is repeated along axes where it has 1.
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

}  // namespace

Bounded combine(const Elementwise& elementwise, const Bounded& a, const Bounded& b) {
  Bounded y = blank(output_shape(elementwise, {a.shape, b.shape}));
  const Offset terms = std::max(a.terms, b.terms);
  const bool sum = elementwise.kind == Elementwise::Kind::add || elementwise.kind == Elementwise::Kind::subtract;
  y.terms = terms + (sum ? 1 : 0);
  const std::vector<std::size_t> a_strides = repeated_strides(a.shape, y.shape);
  const std::vector<std::size_t> b_strides = repeated_strides(b.shape, y.shape);
  for_elements(y, [&](std::size_t i) {
    const std::size_t in_a = place_of(i, y.shape, a_strides);
    const std::size_t in_b = place_of(i, y.shape, b_strides);
    const Point point = combined(elementwise.kind, {a.values[in_a], a.bounds[in_a]}, {b.values[in_b], b.bounds[in_b]},
                                 static_cast<double>(terms));
    y.values[i] = point.value;
    y.bounds[i] = point.bound;
  });
  return y;
}

Bounded soften(const Softmax& softmax, const Bounded& x) {
  Bounded y = blank(output_shape(softmax, {x.shape}));
  const auto length = static_cast<std::size_t>(x.shape[softmax.axis]);
  std::size_t inner = 1;  // how far apart the elements of a row lie
  for (std::size_t axis = softmax.axis + 1; axis < x.shape.size(); ++axis)
    inner *= static_cast<std::size_t>(x.shape[axis]);
  if (y.values.empty()) return y;
  parallel_for(x.values.size() / length, [&](std::size_t row) {
    const std::size_t first = row / inner * length * inner + row % inner;
    const auto element = [&](std::size_t i) { return first + i * inner; };
    double largest = -std::numeric_limits<double>::infinity();
    double least = std::numeric_limits<double>::infinity();
    double spread = 0;
    for (std::size_t i = 0; i < length; ++i) {
      largest = std::max(largest, x.values[element(i)]);
      least = std::min(least, x.values[element(i)]);
      spread = std::max(spread, x.bounds[element(i)]);
    }
    double sum = 0;
    for (std::size_t i = 0; i < length; ++i) sum += std::exp(x.values[element(i)] - largest);
    for (std::size_t i = 0; i < length; ++i) {
      const double value = std::exp(x.values[element(i)] - largest) / sum;
      // Differences up to `largest - least` are rounded, above and below the quotient; n exponentials are added.
      const double roundings = 2 * (largest - least + 2 * spread) + static_cast<double>(length) + 128;
      const double factor = std::exp(2 * spread) * (1 + gamma(roundings)) - 1;
      y.values[element(i)] = value;
      y.bounds[element(i)] = std::min(1.0, value * factor + 4 * kUnderflow);
    }
  });
  return y;
}

}  // namespace spdnn::reference
