// Activations, functions of each element, and softmax.

#include <algorithm>
#include <array>
#include <limits>

#include "model/operations/functions.hpp"
#include "model/operations/operations.hpp"
#include "model/operations/requirements.hpp"

namespace spdnn::rules {

namespace {

double hard_sigmoid(double alpha, double beta, double x) { return std::clamp(alpha * x + beta, 0.0, 1.0); }

/// NaN stays NaN in every function.
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
      return {x, e};
    default:
      return function_of_library(activation.kind, alpha, x, e);
  }
}

}  // namespace

std::string_view name(const Activation& activation) {
  static constexpr std::array kNames{
#define SPDNN_ACTIVATION(kind, name, ...) std::string_view(name),
#include "spdnn/activations.def"
#undef SPDNN_ACTIVATION
  };
  return kNames.at(static_cast<std::size_t>(activation.kind));
}

void check(const Activation& activation) {
  require_finite({activation.alpha, activation.beta}, "its parameter");
  require_finite(activation.alphas, "its slope");
  if (activation.kind == Activation::Kind::clip && !(activation.low <= activation.high))
    invalid("its lower limit exceeds its upper one");
  if (activation.kind == Activation::Kind::prelu && activation.alphas.empty()) invalid("it has no slopes");
}

Shape shape(const Activation& activation, const std::vector<Shape>& inputs) {
  const Shape& shape = only(inputs);
  if (activation.kind == Activation::Kind::prelu && activation.alphas.size() != 1 &&
      (shape.size() < 2 || shape[1] != static_cast<Extent>(activation.alphas.size())))
    refuse(std::to_string(activation.alphas.size()) + " slopes do not fit " + shape_text(shape));
  return shape;
}

void evaluate(const Activation& activation, const std::vector<const Bounded*>& inputs, Bounded& y) {
  const Bounded& x = *inputs[0];
  if (activation.kind == Activation::Kind::identity) y.terms = x.terms;
  const std::size_t size = channel_size(x.shape);
  const bool by_channel = activation.kind == Activation::Kind::prelu;
  for_elements(y, [&](std::size_t i) {
    const double alpha = by_channel ? activation.alphas[i / size % activation.alphas.size()] : activation.alpha;
    set(y, i, activated(activation, alpha, x.values[i], x.bounds[i]));
  });
}

Magnitude magnitude(const Activation& activation, const Operands& operands) {
  const double x = operands.largest[0];
  switch (activation.kind) {
    case Activation::Kind::clip: {
      const double low = std::clamp(-x, double{activation.low}, double{activation.high});
      const double high = std::clamp(x, double{activation.low}, double{activation.high});
      return {x, std::max(std::abs(low), std::abs(high))};
    }
    case Activation::Kind::leaky_relu:
      return all_at_most(x * std::max(1.0, std::abs(double{activation.alpha})));
    case Activation::Kind::prelu: {
      double steepest = 1;
      for (const float alpha : activation.alphas) steepest = std::max(steepest, std::abs(double{alpha}));
      return all_at_most(x * steepest);
    }
    case Activation::Kind::sigmoid:
    case Activation::Kind::tanh:
      return {x, 1};
    case Activation::Kind::hard_sigmoid:
      return {std::abs(double{activation.alpha}) * x + std::abs(double{activation.beta}), 1};
    case Activation::Kind::hard_swish:
      return {6 * (x + 3), x};
    case Activation::Kind::relu:
    case Activation::Kind::identity:
      return all_at_most(x);
    default:
      return magnitude_of_function(activation.kind, activation.alpha, x);
  }
}

std::string_view name(const Softmax& /*operation*/) { return "softmax"; }

void check(const Softmax& /*operation*/) {}

Shape shape(const Softmax& softmax, const std::vector<Shape>& inputs) {
  const Shape& shape = only(inputs);
  if (checked_axis(softmax.axis, shape) == 0 && has_batch(shape)) refuse("axis 0 is the batch of " + shape_text(shape));
  return shape;
}

void evaluate(const Softmax& softmax, const std::vector<const Bounded*>& inputs, Bounded& y) {
  const Bounded& x = *inputs[0];
  const auto length = static_cast<std::size_t>(x.shape[softmax.axis]);
  std::size_t inner = 1;  // how far apart the elements of a row lie
  for (std::size_t axis = softmax.axis + 1; axis < x.shape.size(); ++axis)
    inner *= static_cast<std::size_t>(x.shape[axis]);
  if (y.values.empty()) return;
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
      set(y, element(i), {value, std::min(1.0, value * factor + 4 * kUnderflow)});
    }
  });
}

Magnitude magnitude(const Softmax& /*operation*/, const Operands& operands) { return {2 * operands.largest[0], 1}; }

}  // namespace spdnn::rules
