#include "engines/cuda/layers/half.hpp"

#include <cuda_fp16.h>

#include <algorithm>
#include <cmath>

#include "spdnn/error.hpp"

namespace spdnn::cuda {

std::string reason_against_halves(const Plan& plan, const std::string& variant) {
  if (plan.passes.merge) return variant + ": the error bounds of merge do not hold for fp16; leave one of the two out";
  if (!plan.cap || *plan.cap > kLargestHalf || __half2float(__double2half(*plan.cap)) != *plan.cap)
    return variant + ": fp16 needs a cap of at most 65504 that half precision holds exactly";
  return {};
}

void require_halves(const ImageSet& images, const std::string& variant) {
  if (images.is_bits()) return;
  const CsrMatrix& rows = images.sparse();
  const auto fits = [](float value) { return std::abs(value) <= kLargestHalf; };
  const bool fit = rows.uniform() ? fits(rows.value) : std::all_of(rows.values.begin(), rows.values.end(), fits);
  if (!fit) throw UsageError(variant + ": the images have values beyond 65504, which fp16 does not hold");
}

}  // namespace spdnn::cuda
