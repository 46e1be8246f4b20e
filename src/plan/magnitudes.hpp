#pragma once

#include <vector>

#include "spdnn/images.hpp"
#include "spdnn/plan.hpp"

namespace spdnn::planning {

// How large sums can become, told from the weights and the largest value of the images, so that a run in which nothing
// can overflow need not look for it.
//
// Let the inputs of a layer be at most X in absolute value. A neuron of n terms has no partial sum above
//   S = max(1, X) sum|w| e^((n + 2) u) + |b|,   u = 2^-24,
// in whatever order and association it is summed, with or without fused multiply-add, in fp32 or better: n products and
// n additions enlarge a sum by (1 + u)^(n + 1) <= e^((n + 1) u) at most (Higham, Accuracy and Stability of Numerical
// Algorithms, section 3.1); the spare u covers the arithmetic of the bound itself. max(1, X) stands for X so that S
// also bounds weights of one input that are added up before they are multiplied, as libraries and `merge` have them.
// The inputs of the next layer are at most min(cap, S).

/// Upper bounds on absolute values, by layer.
struct Magnitudes {
  std::vector<double> inputs;  ///< activations that enter the layer
  std::vector<double> sums;    ///< partial sums of its neurons, bias included
};

/// How closely rows are looked at.
enum class RowBounds {
  rough,  ///< as if one neuron had all edges of its layer, with the largest weight: reads nothing where that is uniform
  exact,  ///< one pass over the rows' weights, or over their degrees where weights are uniform
};

/// For images with values of at most `largest_value`. What is beyond fp64 comes out as infinity.
Magnitudes magnitudes(const Plan& plan, double largest_value, RowBounds bounds);

/// An upper bound on the absolute value of a neuron in any image, where entries of one neuron add up: in a rough bound
/// all entries of an image may. O(1) for bits; otherwise one pass over the values, for an exact bound over the entries.
double largest_value(const ImageSet& images, RowBounds bounds);

}  // namespace spdnn::planning
