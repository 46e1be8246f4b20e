#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <vector>

#include "program/kernel.hpp"

namespace spdnn::program {

/// One of the activations that a mathematical library has.
float function_of_library(Activation::Kind kind, float alpha, float x);

/// A function of one element; `alpha` is that of its channel.
inline float activated(const Activation& activation, float alpha, float x) {
  switch (activation.kind) {
    case Activation::Kind::relu:
      return std::max(x, 0.F);
    case Activation::Kind::clip:
      return std::min(activation.high, std::max(activation.low, x));
    case Activation::Kind::leaky_relu:
    case Activation::Kind::prelu:
      return x < 0 ? alpha * x : x;
    case Activation::Kind::sigmoid:
      return 1 / (1 + std::exp(-x));
    case Activation::Kind::tanh:
      return std::tanh(x);
    case Activation::Kind::hard_sigmoid:
      return std::min(1.F, std::max(0.F, activation.alpha * x + activation.beta));
    case Activation::Kind::hard_swish:
      return x * std::min(1.F, std::max(0.F, x / 6 + 0.5F));
    case Activation::Kind::identity:
      return x;
    default:
      return function_of_library(activation.kind, alpha, x);
  }
}

/// What a kernel does with its sums before it leaves them: min(high, max(low, sum)), and then `finish` with some
/// adjacent results, unless it is empty.
struct Ending {
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
  std::function<void(float* results, std::size_t count)> finish{};
};

/// Applies a step's fused nodes to its results, for kernels without a library: node by node, each rounded like a
/// separate node.
class Epilogue {
 public:
  /// The epilogue of all fused nodes. Their added values follow the node's own inputs, in the layout of the output.
  explicit Epilogue(const Request& request);
  Epilogue() = default;

  bool empty() const { return functions_.empty(); }
  /// Changes `count` results that lie side by side, the first being element `first` of the output.
  void apply(float* results, std::size_t count, std::size_t first, const Operands& operands) const;
  /// The same for kernels that limit their sums: `finish` has what is left. The epilogue and the operands outlive it.
  Ending ending(const Operands& operands) const;

 private:
  struct Function {
    enum class Kind { activation, line, addition };
    Kind kind = Kind::activation;
    Activation activation{};
    Line line{1, 0};
    std::size_t input = 0;  ///< that is added
  };
  void apply_from(std::size_t function, float* results, std::size_t count, std::size_t first,
                  const Operands& operands) const;

  std::vector<Function> functions_;
};

}  // namespace spdnn::program
