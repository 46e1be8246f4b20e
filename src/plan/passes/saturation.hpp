#pragma once

#include <cstdint>
#include <vector>

#include "spdnn/network.hpp"

namespace spdnn::planning {

// Certificates: the layers from which on a row of zeros, or a row at the cap, provably does not change.
//
// dead_from. A row of zeros gives sums of 0. By the rule non_zeros no bias is added, so zeros always come out. By the
// rule everywhere the neuron becomes max(0, bias), with or without inputs, which is zero exactly when the bias is <= 0.
// So a row of zeros stays zero from the first layer after which no stored neuron has a positive bias.
//
// saturated_from. Let a row be all at the cap c. A neuron with n terms has the sum S = c * sum(w); computed in fp32 (or
// better), in any order, with or without fused multiply-add, it is at least
//   L = S - g * A - 2 (n + 1) f,   A = c * sum |w|,   g = (n + 1) u / (1 - (n + 1) u),   u = 2^-24,   f = 2^-126
// (Higham, Accuracy and Stability of Numerical Algorithms, section 3.1, has n u for n terms; the spare u covers the
// fp64 arithmetic of the certificate itself; f is the most that an operation loses if subnormals are flushed). The
// bias is rounded to fp32 once, so the neuron is at the cap when L + b - 2u|b| >= c: adding the bias and taking the
// minimum are monotonic, and c is an fp32 number. By the rule non_zeros the sum must not be 0 either: L > 0. A row
// stays at the cap from the first layer after which that holds for every stored neuron. A layer without neurons
// certifies nothing, because an image at the cap must be a category. So an image can be retired, as dead or as a
// category and with all its later activations known, as soon as its row is all zero or all at the cap after the
// certified layer.

/// Whether rows of zeros that enter the layer come out as zeros. Cost: one pass over the biases.
bool zeros_stay(const Layer& layer, BiasRule rule);
/// Whether rows at the cap that enter the layer come out at the cap. Cost: one pass over the weights, or over the
/// degrees where weights are uniform.
bool caps_stay(const Layer& layer, BiasRule rule, double cap);
/// The first layer from which on all layers have the property; the number of layers if the last lacks it.
Index from_which_on(const std::vector<std::uint8_t>& has_property);

/// See Plan::dead_from; layers.size() if nothing is certified. Cost: one pass over the biases.
Index dead_from(const std::vector<Layer>& layers, BiasRule rule);

/// Whether rows can be certified to stay at this cap: it is a normal fp32 number.
bool certifiable_cap(double cap);

/// See Plan::saturated_from; layers.size() if nothing is certified. The cap must be certifiable. Cost: one pass over
/// the weights, or over the degrees if weights are uniform; in a layer that fails, up to the first row that does.
Index saturated_from(const std::vector<Layer>& layers, BiasRule rule, double cap);

}  // namespace spdnn::planning
