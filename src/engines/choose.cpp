#include "engines/choose.hpp"

#include <fmt/format.h>

#include "spdnn/error.hpp"

namespace spdnn {

namespace {

std::string work_left(const Plan& plan, Index images) {
  const Offset given = plan.provenance.given_edges;
  const double share = given == 0 ? 100.0 : 100.0 * static_cast<double>(plan.edges()) / static_cast<double>(given);
  return fmt::format("{} layers up to {} neurons wide, {} images, {:.3g} % of {} edges left to compute", plan.depth(),
                     plan.max_width(), images, share, given);
}

}  // namespace

void Refusals::add(const std::string& name, std::string why_not) {
  if (why_not.starts_with(name + ": ")) why_not.erase(0, name.size() + 2);
  const auto same = std::find_if(all_.begin(), all_.end(), [&](const auto& one) { return one.second == why_not; });
  if (same != all_.end())
    same->first += ", " + name;
  else
    all_.emplace_back(name, std::move(why_not));
}

std::string Refusals::text() const {
  std::string text;
  for (const auto& [names, why_not] : all_)
    text.append(text.empty() ? "" : "; ").append(names).append(": ").append(why_not);
  return text;
}

VariantChoice choose_variant(const Plan& plan, const BatchInfo& batch, const EngineOptions& options,
                             const std::vector<const Variant*>& usable) {
  const auto first = first_that_takes(usable, [&](const Variant& variant) {
    EngineOptions asked = options;
    asked.precision = precision_near(variant, options.precision);
    return variant.support(plan, batch, asked);
  });
  const std::string work = work_left(plan, batch.images);
  if (first.is_fast)
    return {first.variant, fmt::format("the first fast engine usable here ({}): {}", first.variant->description, work)};
  if (first.variant != nullptr) return {first.variant, "no fast engine supports this run: " + work};
  if (usable.empty()) throw UsageError("no variant of this build can run here");
  if (usable.size() > 1 && plan.passes.merge)
    throw UsageError("no variant of this build supports a merged plan; omit merge from --reduce");
  throw UsageError(first.refusals.text());
}

}  // namespace spdnn
