#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <vector>

#include "program/kernel.hpp"
#include "program/sum_function.hpp"

namespace spdnn::program {

/// One of the activations that a mathematical library has.
float function_of_library(Activation::Kind kind, float alpha, float x);

/// Calls work(a function of one element), so that loops in it are compiled for each function; `alpha` is that of the
/// element's channel.
template <class Work>
auto with_function(const Activation& activation, float alpha, const Work& work) {
  using Kind = Activation::Kind;
  switch (activation.kind) {
    case Kind::relu:
      return work([](float x) { return std::max(x, 0.F); });
    case Kind::clip:
      return work([low = activation.low, high = activation.high](float x) { return std::min(high, std::max(low, x)); });
    case Kind::leaky_relu:
    case Kind::prelu:
      return work([=](float x) { return x < 0 ? alpha * x : x; });
    case Kind::sigmoid:
      return work([](float x) { return 1 / (1 + std::exp(-x)); });
    case Kind::tanh:
      return work([](float x) { return std::tanh(x); });
    case Kind::hard_sigmoid:
      return work([slope = activation.alpha, offset = activation.beta](float x) {
        return std::min(1.F, std::max(0.F, slope * x + offset));
      });
    case Kind::hard_swish:
      return work([](float x) { return x * std::min(1.F, std::max(0.F, x * (1.F / 6) + 0.5F)); });
    case Kind::identity:
      return work([](float x) { return x; });
    default:
      return work([kind = activation.kind, alpha](float x) { return function_of_library(kind, alpha, x); });
  }
}

inline float activated(const Activation& activation, float alpha, float x) {
  return with_function(activation, alpha, [x](const auto& function) { return function(x); });
}

/// What a kernel does with its sums before it leaves them: a function of each, an addition, a function of what that
/// gives, and then `finish` with some adjacent results, unless it is empty.
struct Ending {
  SumFunction function{};
  const float* added = nullptr;  ///< in the layout of the output; null: nothing is added
  SumFunction after_addition{};
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
  /// The same for kernels that do the first functions with their sums, and with `adds` an addition: `finish` has the
  /// others. The epilogue and the operands outlive it.
  Ending ending(const Operands& operands, bool adds) const;
  /// Predicted seconds of `finish` for that many results.
  double finish_seconds(bool adds, std::size_t results, int threads) const;

 private:
  struct Function {
    enum class Kind { activation, line, addition };
    Kind kind = Kind::activation;
    Activation activation{};
    Line line{1, 0};
    std::size_t input = 0;  ///< that is added
  };
  /// The number of functions that such a kernel does with its sums.
  std::size_t done_with_sums(bool adds) const;
  void apply_from(std::size_t function, float* results, std::size_t count, std::size_t first,
                  const Operands& operands) const;

  std::vector<Function> functions_;
};

}  // namespace spdnn::program
