#pragma once

#include <string>

#include "core/types/plan.hpp"
#include "spdnn/images.hpp"

namespace spdnn::cuda {

/// The largest number that half precision holds.
inline constexpr double kLargestHalf = 65504;

/// The reason why `variant` cannot store the plan's activations as halves, or empty. If the cap is exact in half
/// precision, no activation overflows, and a row at the cap is stored exactly, as the proof of the certificate for
/// saturated images requires. Rows of zeros are stored as zeros. Biases are fp32.
std::string reason_against_halves(const Plan& plan, const std::string& variant);

/// Throws UsageError if an image has a value that is not exact in half precision.
void require_halves(const ImageSet& images, const std::string& variant);

}  // namespace spdnn::cuda
