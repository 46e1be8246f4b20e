#include "engines/choose.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "spdnn/error.hpp"

namespace spdnn {

namespace {

std::string work_left(const Plan& plan, Index images) {
  const Offset given = plan.provenance.given_edges;
  const double share = given == 0 ? 100.0 : 100.0 * static_cast<double>(plan.edges()) / static_cast<double>(given);
  return fmt::format("{} layers up to {} neurons wide, {} images, {:.3g} % of {} edges left to compute", plan.depth(),
                     plan.max_width(), images, share, given);
}

Support ask(const Variant& variant, const Plan& plan, const BatchInfo& batch, EngineOptions options) {
  const auto& computes_in = variant.precisions;
  if (std::find(computes_in.begin(), computes_in.end(), options.precision) == computes_in.end())
    options.precision = computes_in.front();
  return variant.support(plan, batch, options);
}

}  // namespace

VariantChoice choose_variant(const Plan& plan, const BatchInfo& batch, const EngineOptions& options,
                             std::span<const Variant> usable) {
  const Variant* last_resort = nullptr;
  std::string why_not = "no variant of this build can run here";
  for (const Variant& variant : usable) {
    const Support support = ask(variant, plan, batch, options);
    if (support.takes() && support.preference == Preference::preferred)
      return {std::string(variant.name), fmt::format("the first fast engine usable here ({}): {}", variant.description,
                                                     work_left(plan, batch.images))};
    if (support.takes() && last_resort == nullptr) last_resort = &variant;
    if (!support.takes()) why_not = support.why_not;
  }
  if (last_resort == nullptr && usable.size() > 1 && plan.passes.merge)
    why_not = "no variant of this build takes a merged plan; leave merge out of --reduce";
  if (last_resort == nullptr) throw UsageError(why_not);
  return {std::string(last_resort->name), "no fast engine takes this run: " + work_left(plan, batch.images)};
}

}  // namespace spdnn
