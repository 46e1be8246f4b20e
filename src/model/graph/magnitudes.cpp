#include "model/graph/magnitudes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/parallel_rows.hpp"
#include "model/operations/geometry.hpp"

namespace spdnn {

namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

/// Computed as part of what is `inside`, and no larger than that.
Magnitude all_of(double largest) { return {largest, largest}; }

double sum_of_absolutes(std::span<const float> values) {
  constexpr std::size_t kSums = 8;  // side by side, as each addition takes long
  std::array<double, kSums> sums{};
  std::size_t k = 0;
  for (; k + kSums <= values.size(); k += kSums)
    for (std::size_t i = 0; i < kSums; ++i) sums[i] += std::abs(double{values[k + i]});
  for (; k < values.size(); ++k) sums[0] += std::abs(double{values[k]});
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

std::vector<double> row_sums(const CsrMatrix& weights) {
  std::vector<double> sums(weights.rows);
  for_row_ranges(weights, [&](Index begin, Index end) {
    for (Index row = begin; row < end; ++row)
      sums[row] = weights.uniform()
                      ? std::abs(double{weights.value}) * static_cast<double>(weights.degree(row))
                      : sum_of_absolutes(weights.values.span().subspan(weights.offsets[row], weights.degree(row)));
  });
  return sums;
}

struct Of {
  const Model& model;
  const Node& node;
  std::span<const double> inputs;
  std::span<const double> row_sums;

  double input() const { return inputs[0]; }

  Magnitude operator()(const Convolution& convolution) const { return of_sums(convolution.bias); }
  Magnitude operator()(const Linear& linear) const { return of_sums(linear.bias); }
  Magnitude operator()(const BatchNorm& norm) const {
    double largest = 0;
    for (std::size_t k = 0; k < norm.scale.size(); ++k) {
      const double factor =
          std::abs(norm.scale[k]) / std::min(1.0, std::sqrt(double{norm.variance[k]} + double{norm.epsilon}));
      largest = std::max(largest, (input() + std::abs(norm.mean[k])) * std::max(factor, 1.0) + std::abs(norm.shift[k]));
    }
    return all_of(largest);
  }
  Magnitude operator()(const Pool& pool) const {
    return of_mean(pool.kind, static_cast<double>(Offset{pool.window.kernel[0]} * pool.window.kernel[1]));
  }
  Magnitude operator()(const GlobalPool& pool) const {
    return of_mean(pool.kind, static_cast<double>(image_extents(model.values[node.inputs[0]].shape).pixels()));
  }
  Magnitude operator()(const Activation& activation) const;
  Magnitude operator()(const Elementwise& elementwise) const {
    switch (elementwise.kind) {
      case Elementwise::Kind::add:
      case Elementwise::Kind::subtract:
        return all_of(inputs[0] + inputs[1]);
      case Elementwise::Kind::multiply:
        return all_of(inputs[0] == 0 || inputs[1] == 0 ? 0 : inputs[0] * inputs[1]);
      case Elementwise::Kind::divide:
        break;
    }
    const double divisor = smallest_divisor();
    return {inputs[0], divisor == 0 ? kInfinite : inputs[0] / divisor};
  }
  Magnitude operator()(const Concat&) const { return all_of(*std::max_element(inputs.begin(), inputs.end())); }
  Magnitude operator()(const Softmax&) const { return {2 * input(), 1}; }
  Magnitude operator()(const Reshape&) const { return all_of(input()); }
  Magnitude operator()(const Transpose&) const { return all_of(input()); }
  Magnitude operator()(const Pad& pad) const { return all_of(std::max(input(), std::abs(double{pad.value}))); }
  Magnitude operator()(const Resize&) const { return {4 * input(), input()}; }

 private:
  Magnitude of_sums(const std::vector<float>& bias) const {
    double largest = 0;
    for (std::size_t row = 0; row < row_sums.size(); ++row)
      largest = std::max(largest, row_sums[row] * input() + (bias.empty() ? 0 : std::abs(double{bias[row]})));
    return all_of(largest);
  }
  Magnitude of_mean(Pool::Kind kind, double terms) const {
    return {kind == Pool::Kind::max ? input() : terms * input(), input()};
  }
  /// 0 where the divisors are not known.
  double smallest_divisor() const {
    const auto& constant = model.values[node.inputs[1]].constant;
    if (!constant) return 0;
    double smallest = kInfinite;
    for (const float value : constant->values) smallest = std::min(smallest, std::abs(double{value}));
    return smallest;
  }
};

Magnitude Of::operator()(const Activation& activation) const {
  const double x = input();
  switch (activation.kind) {
    case Activation::Kind::clip: {
      const double low = std::clamp(-x, double{activation.low}, double{activation.high});
      const double high = std::clamp(x, double{activation.low}, double{activation.high});
      return {x, std::max(std::abs(low), std::abs(high))};
    }
    case Activation::Kind::leaky_relu:
      return all_of(x * std::max(1.0, std::abs(double{activation.alpha})));
    case Activation::Kind::prelu: {
      double steepest = 1;
      for (const float alpha : activation.alphas) steepest = std::max(steepest, std::abs(double{alpha}));
      return all_of(x * steepest);
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
      break;
  }
  return all_of(x);
}

}  // namespace

Magnitudes::Magnitudes(const Model& model) : model_(model), row_sums_(model.nodes.size()) {
  for (std::size_t node = 0; node < row_sums_.size(); ++node)
    if (const CsrMatrix* const weights = matrix_or_null(model.nodes[node].operation))
      row_sums_[node] = row_sums(*weights);
}

Magnitude Magnitudes::of(Index node, std::span<const double> inputs) const {
  const Node& one = model_.nodes[node];
  return std::visit(Of{model_, one, inputs, row_sums_[node]}, one.operation);
}

double magnitude_of(const Tensor& constant) {
  double largest = 0;
  for (const float value : constant.values) largest = std::max(largest, std::abs(double{value}));
  return largest;
}

}  // namespace spdnn
