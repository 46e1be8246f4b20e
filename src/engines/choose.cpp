#include "engines/choose.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "spdnn/error.hpp"

namespace spdnn {

namespace {

/// The oracle is never optimised, and adds in the given order only.
constexpr std::string_view kOracle = "cpu_reference";

/// Made for layers that twins have narrowed and for images that leave: elsewhere others are faster. Without
/// `saturated` many images stay to the end, which it runs as fast as others up to some width only.
constexpr std::string_view kNarrowEngine = "cascade";
constexpr Index kNarrowed = 4;       ///< times narrower than the inputs at least
constexpr Index kNarrowTail = 1024;  ///< neurons

bool suits_narrow_engine(const Plan& plan, const BatchShape& batch) {
  const Index width = plan.max_outputs();
  return batch.bits && plan.passes.dead && Offset{width} * kNarrowed <= plan.inputs() &&
         (plan.passes.saturated || width <= kNarrowTail);
}

std::string work_left(const Plan& plan, Index images) {
  const double share = plan.provenance.given_edges == 0 ? 100.0
                                                        : 100.0 * static_cast<double>(plan.edges()) /
                                                              static_cast<double>(plan.provenance.given_edges);
  return fmt::format("{} layers up to {} neurons wide, {} images, {:.3g} % of {} edges left to compute", plan.depth(),
                     plan.max_width(), images, share, plan.provenance.given_edges);
}

/// A variant that is made for certain plans only refuses others with a UsageError.
bool takes_plan(const Variant& variant, const Plan& plan, const BatchShape& batch) {
  try {
    variant.working_bytes(plan, {.may_overflow = batch.may_overflow}, batch.images);
    return true;
  } catch (const UsageError&) {
    return false;
  }
}

}  // namespace

VariantChoice choose_variant(const Plan& plan, const BatchShape& batch, std::span<const Variant> usable) {
  const auto takes = [&](const Variant& v) {
    return v.name != kOracle && (v.name != kNarrowEngine || suits_narrow_engine(plan, batch)) &&
           takes_plan(v, plan, batch);
  };
  const auto fast = std::find_if(usable.begin(), usable.end(), takes);
  if (fast != usable.end())
    return {std::string(fast->name), fmt::format("the first fast engine usable here ({}): {}", fast->description,
                                                 work_left(plan, batch.images))};
  if (usable.empty() || plan.passes.merge)
    throw UsageError(usable.empty() ? "no variant of this build can run here"
                                    : "no variant of this build takes a merged plan; leave merge out of --reduce");
  return {std::string(kOracle), "the only engine usable here: " + work_left(plan, batch.images)};
}

}  // namespace spdnn
