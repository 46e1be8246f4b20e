#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "model/operations/operations.hpp"

namespace spdnn {

// The oracle of models: every operation in fp64, by plain loops, and for each value a bound on the deviation of an fp32
// engine, for any order of summation, with or without fused multiply-add, on the model as given or rewritten
// (src/model/rewrites). An engine that exceeds the bound is wrong.
//
// The bounds, operation by operation, with u = 2^-24, gamma(n) = n u / (1 - n u), and e the bound of an input x
// (N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd edition, chapter 3):
// - sum of n terms w x and a bias b: gamma(n + 3) (sum |w| (|x| + e) + |b|) + sum |w| e. Each term is rounded at most
//   n + 1 times: as a product, and in n additions, whichever their order. One more is of a weight that a rewrite has
//   rounded, one is spare and covers the fp64 arithmetic of the oracle itself.
// - mean of n: the same with all w = 1/n; one more rounding is of the division.
// - maximum, relu, clip, sigmoid, tanh, hard sigmoid: how far the result moves when all inputs move up, or down, by
//   their e, since these functions are monotonic. So a relu's is 0 where its input is surely negative, without which
//   bounds would grow with each layer as if all activations were positive. Sigmoid and tanh have 32 u more for the
//   function itself: libraries are off by some units in the last place of values up to 1. A hard sigmoid has the
//   rounding of its three steps more.
// - functions of a library (exp, log, erf, sine and the like), elu, softplus: how far the result moves to the ends of
//   where the argument may be, as all are monotonic, or even and convex; of sine and cosine at most e, their largest
//   slope being 1. 32 u of the result more, but for those that are exact: abs, sign, floor, ceil and round. Infinite
//   where the argument may lie beyond the domain, or at a pole.
// - power: the largest distance to the corners of where base and exponent may be, and 32 u of the result; infinite
// where
//   the base may be negative, unless the exponent is an exact whole number, or 0 under a negative exponent.
// - maximum, minimum of two, and over axes: how far the result moves when all inputs move up, or down, by their e.
// - product of matrices: as a sum of n terms a b: gamma(n + 3) sum (|a| + e_a) (|b| + e_b) + sum (|a| e_b + e_a (|b| +
//   e_b)). A sum over axes is one with a = 1.
// - product over axes: step by step, e of a product being e (|x| + e_x) + |product| e_x, and gamma(n + 1) of the
// result.
// - leaky relu, prelu: the larger of the slopes there, times e, and the rounding of one product.
// - hard swish: 3/2 e, the largest slope (0 below -3, 1 above 3), and the roundings of its steps.
// - batch norm, add, subtract: the e of each term, times its factor, and gamma(n + 8) times the terms' absolute values.
//   n is the number of terms of the sum that they are applied to, with nothing but the like, products, quotients,
//   reshapes and transposes between: a rewrite or an engine may make their terms a part of that sum, where they are
//   rounded n times. 8 covers their own roundings.
// - multiply: e_a |b| + e_b |a| + e_a e_b, and the rounding of the product.
// - divide: (e_a + |a / b| e_b) / (|b| - e_b), infinite where the divisor's sign is not known, and the rounding.
// - softmax: y (exp(2 E) - 1), with E the largest e, as each exponential is off by a factor of at most exp(E), and
//   their sum as well; and the roundings of the differences, exponentials, sum and quotient.
// - linear resize: the weighted mean of four e, and 16 roundings of the largest of the four values, since
//   a + t (b - a) rounds a by more than its weight.
// - copies of elements: e.
// Each gets the loss of operations if subnormals are flushed to zero: 2^-126 each.
//
// All this holds as long as no number, nor a part of a sum, exceeds fp32: ModelEngine::overflow() names a node in
// which one may have. A NaN here, as sums may exceed even fp64, stays one up to the outputs.
//
// Bounds of a whole network are worst cases of worst cases: after eight layers they may exceed the values themselves.
// To judge an engine, evaluate() each node on the engine's own values before it, taken exactly().

/// The tensor as it is, with bounds of zero.
Bounded exactly(const Tensor& tensor);

/// The model's outputs for one tensor for each of its inputs. Where a shape has kBatchExtent, all tensors agree on it;
/// UsageError where a tensor does not have its input's shape. Cost: one fp64 multiply-add of each non-zero weight at
/// each place, and 16 bytes for each element that is still to be read.
/// `cancelled` is called before each node; true ends the call with Cancelled. `overflow`, if given, becomes the first
/// node with a value that is infinite or NaN.
std::vector<Bounded> evaluate(const Model& model, const std::vector<Tensor>& inputs,
                              const std::function<bool()>& cancelled = {}, std::optional<Index>* overflow = nullptr);

/// The outputs in fp64 if each value between nodes is rounded to fp32, as in every fp32 engine, and if nothing else is:
/// how far they are from evaluate()'s shows how sensitive the model is to rounding. Their bounds mean nothing.
std::vector<Bounded> evaluate_rounded(const Model& model, const std::vector<Tensor>& inputs,
                                      const std::function<bool()>& cancelled = {});

/// What a number between two whole ones is rounded to that an engine within its bound may round to either.
enum class Undecided : std::uint8_t {
  below,
  above,
  other,  ///< than the exact one
};
/// The outputs if each such number is decided so. Bounds begin anew behind it, so that no others count as such: how far
/// the outputs move shows how far correct engines, whose roundings decide, may be apart. Its bounds mean nothing.
std::vector<Bounded> evaluate_decided(const Model& model, const std::vector<Tensor>& inputs, Undecided choice,
                                      const std::function<bool()>& cancelled = {});

/// Is given the number of a node, its inputs and its output, which it may change: later nodes read what it leaves.
using TakeNode = std::function<void(std::size_t, const std::vector<const Bounded*>&, Bounded&)>;
/// evaluate(), which calls take after each node.
std::vector<Bounded> evaluate_nodes(const Model& model, const std::vector<Tensor>& inputs,
                                    const std::function<bool()>& cancelled, const TakeNode& take);

/// The largest |found - expected| / bound; infinite where a value deviates that has a bound of zero, or is no number.
double largest_ratio(const Bounded& expected, std::span<const float> found);

}  // namespace spdnn
