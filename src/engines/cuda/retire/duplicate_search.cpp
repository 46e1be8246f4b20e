#include "engines/cuda/retire/duplicate_search.hpp"

#include <algorithm>
#include <bit>

namespace spdnn::cuda {

/// From layer dead_from on, rows of zeros are retired at once.
DuplicateSearchSizes::DuplicateSearchSizes(const Plan& plan, Index images)
    : row_mask(std::bit_ceil(std::max(images, Index{1})) - 1),
      zero_layers(plan.passes.dead ? std::max(plan.certificates.dead_from, 1U) - 1 : plan.depth()),
      zero_words(images / 32 + 1) {}

}  // namespace spdnn::cuda
