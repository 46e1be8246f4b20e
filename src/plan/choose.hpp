#pragma once

#include <span>
#include <string>

#include "spdnn/engine.hpp"

namespace spdnn {

struct VariantChoice {
  std::string name;
  std::string why;  ///< one sentence for people
};

/// The variant for `--variant auto`, out of those that can run here (the caller leaves out variants whose device is
/// absent): the first of them that is no oracle, so the order of variants.def says what is preferred. Throws UsageError
/// where none of them can run the plan.
VariantChoice choose_variant(const Plan& plan, Index images, std::span<const Variant> usable);

}  // namespace spdnn
