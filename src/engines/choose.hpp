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
/// absent): the first that supports the run and calls itself preferred, else the first that supports it. Variants that
/// do not compute in options.precision are asked for their own. Throws UsageError where none of them supports the run.
VariantChoice choose_variant(const Plan& plan, const BatchInfo& batch, const EngineOptions& options,
                             std::span<const Variant> usable);

}  // namespace spdnn
