#include "inference/network/run_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "inference/ranks/record_run.hpp"

namespace spdnn {

namespace {

std::string bias_text(const Plan& plan) {
  if (plan.depth() == 0) return "0";
  auto [low, high] = plan.bias_range(0);
  for (Index k = 1; k < plan.depth(); ++k) {
    const auto [least, most] = plan.bias_range(k);
    low = std::min(low, least);
    high = std::max(high, most);
  }
  return low == high ? fmt::format("{:g}", low) : fmt::format("{:g}..{:g}", low, high);
}

}  // namespace

std::optional<double> computed_edges(const Plan& plan, const Outcome& outcome, Index images) {
  const bool all = !plan.passes.dead && !plan.passes.saturated && !plan.passes.identical;
  double sum = 0;
  for (Index k = 0; k < plan.depth(); ++k) {
    const std::int64_t active = k == 0 || all ? std::int64_t{images} : outcome.active[k - 1];
    if (active < 0) return std::nullopt;
    sum += static_cast<double>(active) * static_cast<double>(plan.shape(k).edges);
  }
  return sum;
}

void describe(const Plan& plan, Index images, const EngineChoice& choice, const InferenceSpec& spec, Report& report) {
  report.neurons = plan.provenance.given_neurons;
  report.bias = bias_text(plan);
  report.cap = plan.cap;
  report.images = images;
  report.edges = plan.provenance.given_edges;
  report.notes = plan.provenance.notes;
  record_engine(choice, spec, report);
}

void record_run(RankedResult all, Report& report) {
  record_times(all, report);
  RunResult& result = all.result;
  report.stored_edges = result.plan->edges();
  report.passes = result.plan->passes;
  report.outcome = std::move(result.outcome);
}

}  // namespace spdnn
