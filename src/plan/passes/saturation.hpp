#pragma once

#include "spdnn/network.hpp"

namespace spdnn::planning {

// Certificates: from which layer on the two rows that an image ends as stay as they are, whatever the weights.
//
// dead_from. An all-zero row gives sums 0. By the rule non_zeros no bias is added: zeros come out, always. By the rule
// everywhere the neuron becomes max(0, bias), with or without inputs: zero just when the bias is <= 0. So rows of
// zeros stay zero from the first layer on behind which no stored neuron has a positive bias.
//
// saturated_from. Let a row be all at the cap c. A neuron with n terms has the sum S = c * sum(w); computed in fp32 (or
// better), in any order, with or without fused multiply-add, it is at least
//   L = S - g * A - 2 (n + 1) f,   A = c * sum |w|,   g = (n + 1) u / (1 - (n + 1) u),   u = 2^-24,   f = 2^-126
// (Higham, Accuracy and Stability of Numerical Algorithms, section 3.1, has n u for n terms: the spare u covers the
// fp64 arithmetic of the certificate itself; f is what an operation may lose where subnormals are flushed to zero). The
// bias is rounded to fp32 once, so the neuron is at the cap when L + b - 2u|b| >= c: adding the bias and taking the
// minimum are monotonic, and c is an fp32 number. By the rule non_zeros the sum must not be 0 either: L > 0. Rows stay
// at the cap from the first layer on behind which that holds for every stored neuron; a layer without neurons certifies
// nothing, for an image at the cap must be a category.
// An image may hence be settled as dead or as a category, with all its later activations known, the moment its row is
// all zero or all at the cap behind the certificate.

/// See Plan::dead_from; layers.size() where nothing is certified. Cost: the biases.
Index dead_from(const std::vector<Layer>& layers, BiasRule rule);

/// Is the cap one that rows can be certified to stay at: a normal fp32 number?
bool certifiable_cap(double cap);

/// See Plan::saturated_from; layers.size() where nothing is certified. Needs a certifiable cap. Cost: one pass over the
/// weights, or over the degrees where weights are uniform; of a layer that fails, up to the first row that does.
Index saturated_from(const std::vector<Layer>& layers, BiasRule rule, double cap);

}  // namespace spdnn::planning
