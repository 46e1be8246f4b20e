#pragma once

#include <span>
#include <vector>

#include "core/types/plan.hpp"
#include "plan/image_facts.hpp"

namespace spdnn::planning {

// How large sums can become, derived from the weights and the largest value of the images, so that a run in which
// nothing can overflow need not look for overflow.
//
// Let the inputs of a layer be at most X in absolute value. A neuron of n terms has no partial sum above
//   S = max(1, X) sum|w| e^((n + 2) u) + |b|,   u = 2^-24,
// in whatever order and association it is summed, with or without fused multiply-add, in fp32 or better: n products and
// n additions enlarge a sum by at most (1 + u)^(n + 1) <= e^((n + 1) u) (Higham, Accuracy and Stability of Numerical
// Algorithms, section 3.1). The spare u covers the arithmetic of the bound itself. The bound has max(1, X) instead of X
// because weights of one input may be added up before they are multiplied, as libraries and `merge` do.
// The inputs of the next layer are at most min(cap, S).

/// Upper bounds on absolute values, one per layer.
struct Magnitudes {
  std::vector<double> inputs;  ///< activations that enter the layer
  std::vector<double> sums;    ///< partial sums of its neurons, bias included
};

/// How closely the rows of a layer are examined.
enum class RowBounds {
  rough,  ///< as if one neuron had all edges of its layer, each with the largest weight; reads no uniform weights.
          ///< Streamed layers have exact bounds in any case, found when the plan was made
  exact,  ///< one pass over the weights of the rows, or over their degrees where weights are uniform
};

/// The bounds of one layer, examined closely.
LayerBounds bounds_of(const Layer& layer);

/// For images whose values are at most `largest_value`. Bounds that exceed fp64 become infinity.
Magnitudes magnitudes(const Plan& plan, double largest_value, RowBounds bounds);

/// The largest absolute value.
double largest_of(std::span<const float> values);
/// An upper bound on the absolute value of a neuron in any image. Entries that name the same neuron add up; a rough
/// bound assumes that all entries of an image may do so.
double largest_value(const ImageFacts& images, RowBounds bounds);

}  // namespace spdnn::planning
