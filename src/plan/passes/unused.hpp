#pragma once

#include <cstdint>
#include <vector>

#include "spdnn/network.hpp"

namespace spdnn::planning {

// The pass `unused`: neurons that can never be non-zero, and neurons that nothing reads, are not computed.
//
// Never non-zero. Activations are non-negative from the first layer's outputs on (images may hold any value). A neuron
// is 0 for every image when
//   - all of its terms have always-zero inputs: its sum is 0, and the bias is not added (rule non_zeros) or is <= 0; or
//   - its inputs are activations, no weight is positive and the bias is <= 0: every partial sum is <= 0 in any order
//     and precision, since rounding is monotonic, and so is sum + bias.
// Terms that read such a neuron are left out, which changes no bit that matters: weights are finite, so the term is +0
// or -0, and x + (+-0) = x for every x but -0. A sum that starts at +0 becomes -0 only when a fused multiply-add
// underflows, and then only the sign of a zero changes, which neither the rule (z != 0) nor max, min or a later sum
// sees.
//
// Not read. A neuron before the last layer that no stored neuron reads cannot affect the categories; leaving it out
// changes no operand of anything that is computed. Going backward from the last layer finds chains of such neurons.
//
// Dead, saturated and identical images are judged by stored neurons only. The categories do not change: later layers
// are a function of the stored neurons, which are those that are read; and an image whose stored neurons are all zero
// has in every later layer the values of an all-zero row, hence zeros after `dead_from`. The last layer loses none but
// always-zero neurons, so an image is alive there exactly when a stored neuron is not zero. (The number of images alive
// after a layer in between counts stored neurons, and may be smaller than that of the given network.)
//
// All this holds as long as no sum overflows fp32; a run in which one does has NaN for activations in any engine.

/// Which neurons of a layer can never be non-zero: one flag per neuron, or an empty vector when there are none. Terms
/// with an always-zero input must have been removed. Cost: each row's weights up to the first positive one.
std::vector<std::uint8_t> always_zero(const Layer& layer, BiasRule rule, bool inputs_non_negative);

/// Which inputs are read by some row: one flag per input. Cost: the indices up to the first occurrence of the last new
/// input.
std::vector<std::uint8_t> read_inputs(const CsrMatrix& weights);

}  // namespace spdnn::planning
