#pragma once

#include <string>

#include "core/types/plan.hpp"

namespace spdnn::planning {

// The pass `merge`: terms of a sum that have the same stored input and the same weight w become one term of weight
// count * w. They are common after `twins`: official layers of 32 terms have as few as 2 distinct neurons.
//
// Unlike the other passes, it re-associates sums. Where sums are not negative (W >= 0, images in [0, 1]) and b <= 0,
// the rule is the continuous function min(c, max(0, YW + b)), which does not magnify errors beyond those of YW. So the
// distance from the given order can be bounded before any image is seen. With u = 2^-24, g(n) = n u / (1 - n u), and
// for a neuron with weight sum s, n given and m merged terms, inputs at most X (1, then at most min(c, s X + b)) and
// input errors at most a (0 for images):
//   error of Z + b:                   s a + (g(n + 1) + g(m + 2)) s X                + 5 u |b|
//   error of min(c, max(0, Z + b)):   s a + (g(n + 1) + g(m + 2)) min(s X, c + |b|)  + 5 u |b|,  at most min(c, X')
// The first is Plan::error_bounds: the two sums carry relative errors g(n) and g(m + 1) (Higham, section 3.1; one
// rounding is that of count * w), adding the bias rounds each once more, and b is rounded to fp32. In the second,
// c + |b| replaces s X, for this reason. Let p < c be the smaller of the two activations. If the other is also below c,
// both sums are below c + |b| up to rounding, and so are their errors. If not, the other's sum is at least c + |b| in
// exact arithmetic, up to a relative error; then p's sum is at least that less s a, up to a relative error that again
// applies to c + |b|.
// Since s is about 2 in official networks, the bounds double with each layer and reach the cap after some 20 layers.
// Images that have neither died nor saturated by then cannot be decided, and are run again in the given order. They are
// few, and `merge` pays in the first layers, through which all images go.

/// The reason why the plan cannot be merged, or empty.
std::string reason_against_merge(const Plan& plan);

/// The matrix in which each row has its equal terms added up, ascending by input; count * w is rounded to fp32. A row
/// in which that would overflow stays as it is.
CsrMatrix merge_terms(const CsrMatrix& weights);

/// The plan with its terms merged and error_bounds filled in, which holds the original plan as in_order.
Plan merged(Plan plan);

}  // namespace spdnn::planning
