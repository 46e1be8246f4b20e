#pragma once

#include <vector>

#include "core/types/plan.hpp"
#include "spdnn/images.hpp"

namespace spdnn::tiles {

// Decides whether a weight shared by all edges of a layer may multiply the sum of the inputs once instead of each
// input, with the same bits. Let the weight be w = +-2^-k, and T the precision:
//   w (y1 + y2 + ...) = w y1 + w y2 + ..., each addition rounded,
// as scaling by a power of two moves exponents alone, unless
//   - a sum overflows on one side: bounds on both (plan/magnitudes.hpp) must be finite in T;
//   - a product is rounded because it is subnormal (k > 0): inputs must be multiples of 2^(e + k), 2^e being the
//     smallest number of T. (Sums that are subnormal are exact in either form, being sums of multiples of 2^e.)
// Common factors are followed through the layers: bits are multiples of 1, images of the last place of their smallest
// value. A product is a multiple of the product of its factors' lowest bits, a sum z of the common factor of its terms.
// With a bias b < 0, a z + b above 0 has z >= |b|, hence is a multiple of the last place of b, however fine z is; a
// bias of 0 leaves z. So networks with negative biases never come near 2^e, others may after some layers. Bits are
// counted in whole numbers, which T holds up to its number of digits: no neuron may have more terms.

/// By layer, whether the weight may be multiplied once. Reads no edges if the bounds suffice, as with a cap.
template <class T>
std::vector<bool> common_factors(const Plan& plan, const ImageSet& images);

}  // namespace spdnn::tiles
