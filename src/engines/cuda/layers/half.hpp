#pragma once

#include <string>

#include "core/types/plan.hpp"
#include "spdnn/images.hpp"

namespace spdnn::cuda {

/// The largest number that half precision holds.
inline constexpr double kLargestHalf = 65504;

/// Why `variant` cannot store the plan's activations as halves: a sentence, or nothing. A cap that a half holds exactly
/// makes sure that no activation overflows, and that a row at the cap is stored as such: its sums are the fp32 sums of
/// the certificate from which on saturated images are retired, whose proof is for the cap as it is. Rows of zeros are
/// stored as zeros. Biases are fp32.
std::string reason_against_halves(const Plan& plan, const std::string& variant);

/// Throws UsageError where an image has a value that a half does not hold.
void require_halves(const ImageSet& images, const std::string& variant);

}  // namespace spdnn::cuda
