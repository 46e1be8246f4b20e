#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "engines/engine.hpp"

namespace spdnn {

/// Why variants do not take the work. A reason that several have in common is given once.
class Refusals {
 public:
  /// The reason may begin with `NAME: `.
  void add(const std::string& name, std::string why_not);
  /// `NAME, NAME: reason; NAME: reason`; empty without refusals.
  std::string text() const;

 private:
  std::vector<std::pair<std::string, std::string>> all_;  ///< names, and their reason
};

/// The variant for `--variant auto`: the first that supports the work and is preferred, else the first that supports
/// it; null if none does.
template <class Kind>
struct FirstThatTakes {
  const Kind* variant = nullptr;
  bool is_fast = false;  ///< preferred
  Refusals refusals;     ///< of the variants before it; if it is not fast, of all
};
/// `support` returns a variant's Support for the work.
template <class Kind, class Ask>
FirstThatTakes<Kind> first_that_takes(const std::vector<const Kind*>& usable, Ask&& support) {
  FirstThatTakes<Kind> first;
  for (const Kind* variant : usable) {
    const Support says = support(*variant);
    if (!says.takes()) {
      first.refusals.add(std::string(variant->name), says.why_not);
    } else if (says.preference == Preference::preferred) {
      first.variant = variant;
      first.is_fast = true;
      return first;
    } else if (first.variant == nullptr) {
      first.variant = variant;
    }
  }
  return first;
}

template <class Kind>
bool computes_in(const Kind& variant, Precision precision) {
  return std::find(variant.precisions.begin(), variant.precisions.end(), precision) != variant.precisions.end();
}
/// `wanted`, or the variant's first precision if it does not support `wanted`.
template <class Kind>
Precision precision_near(const Kind& variant, Precision wanted) {
  return computes_in(variant, wanted) ? wanted : variant.precisions.front();
}

struct VariantChoice {
  const Variant* variant = nullptr;
  std::string why;  ///< one sentence for people
};

/// The variant for a plan, out of those that can run here (the caller excludes variants whose device is absent).
/// Variants that do not support options.precision are considered with their first. UsageError if none supports the run.
VariantChoice choose_variant(const Plan& plan, const BatchInfo& batch, const EngineOptions& options,
                             const std::vector<const Variant*>& usable);

}  // namespace spdnn
