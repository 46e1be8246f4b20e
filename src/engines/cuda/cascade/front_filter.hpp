#pragma once

// A filter in front of the layers of a front: it finds images that die there, without their ordered sums.
//
// Method. The filter follows an image in integers, two of 16 bits in a word: an activation x is X, in units of 1/S. A
// neuron after layer 0 adds a + b + bias as integers, once, where the front adds w a + w b + w a + ... in order. The
// largest such sum M of a layer says whether the image is dead after it, as far as errors allow.
//
// Bound. E(k) bounds |S x - X| over the activations x of layer k. Let u = 2^-24, g(n) = n u / (1 - n u), and let x(k)
// be the largest activation that layer k can have, C the integer for the cap.
//
//   Layer 0. Its activations by count are known in fp32, so E(0) = max over counts of |S x - X|.
//
//   Layer k. A neuron adds p terms w a and p terms w b, none below 0, by fused operations, then its bias: 2p + 1
//   roundings. Its sum z in fp32 therefore differs from p w (a + b) + bias by at most
//     r = g(2p + 1) (p w 2 x(k-1) + |bias|) + (2p + 1) 2^-149,
//   the second term being what numbers below the normal ones lose. The filter's sum is Z = A + B + round(S bias). As
//   |S (a + b) - (A + B)| <= 2 E(k-1),
//     |S z - Z| <= D(k) = 2 E(k-1) + S (|p w - 1| 2 x(k-1) + r) + |S bias - round(S bias)|.
//   min(cap, max(0, z)) moves numbers no further apart: E(k) = max(D(k), |S cap - C|), and
//   x(k) = min(cap, (p w 2 x(k-1)) (1 + g(2p + 1))).
//
// Decision. The margin m(k) is the integer above D(k). Where M <= -m(k), all sums z are below 0, and the image is dead.
// Where M >= m(k), one is above 0, and it lives. Otherwise it is undecided, ties among others, and the front computes
// it. So it does all images that live to its end. An image that is zero retires in a front, and one that has retired at
// the cap is never zero: neither the rule of biases nor the other passes see a difference.
//
// No integer overflows: A and B are between 0 and C, and 2 C + m(k) and all |round(S bias)| are at most 2^14.

#include <cstdint>
#include <optional>
#include <vector>

#include "engines/cuda/cascade/front_program.hpp"

namespace spdnn {

inline constexpr Index kFilterMost = 1U << 14U;

struct FrontFilter {
  struct Step {
    Index bias = 0;    ///< minus round(S bias)
    Index margin = 0;  ///< m(k); unused in layer 0
  };
  Index scale = 0;          ///< S
  Index weight = 0;         ///< of a pixel in layer 0
  Index cap = 0;            ///< C
  std::vector<Step> steps;  ///< by layer
};

/// The filter of a front, with the scale that leaves the fewest sums undecided; nothing if the plan does not retire
/// images that are zero in the front, if no image can die there after layer 0 (no bias is below 0), if some margin is
/// above the cap, or if some shift is no power of two. O(layers).
std::optional<FrontFilter> find_filter(const Front& front, const CascadeProgram& program, const Plan& plan);

/// Whether an image of which a share `lit` of the pixels is 1, evenly, dies in the front. If not, few images will, and
/// the filter would cost more than it saves. O(layers).
bool even_image_dies(const Front& front, const FrontFilter& filter, double lit);

}  // namespace spdnn
