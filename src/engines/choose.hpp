#pragma once

#include <span>
#include <string>

#include "spdnn/engine.hpp"

namespace spdnn {

struct VariantChoice {
  std::string name;
  std::string why;  ///< one sentence for people
};

/// What is known of the images before they are loaded.
struct BatchShape {
  Index images = 0;
  bool bits = true;           ///< they are zeros and ones
  bool may_overflow = false;  ///< a sum of fp32 may exceed its largest number
};

/// The variant for `--variant auto`, out of those that can run here (the caller leaves out variants whose device is
/// absent): the first of them that is no oracle, so the order of variants.def says what is preferred; `cascade` only
/// where twins have narrowed the layers and images leave. Throws UsageError where none of them can run the plan.
VariantChoice choose_variant(const Plan& plan, const BatchShape& batch, std::span<const Variant> usable);

}  // namespace spdnn
