#include "report/results_document.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "core/text/amounts.hpp"
#include "report/configurations.hpp"
#include "report/sections/cells.hpp"
#include "report/sections/sections.hpp"
#include "report/significant.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

namespace {

std::size_t machines_of(const Results& results) {
  std::set<LineOrigin> machines;
  for (LineOrigin origin : results.origins) {
    origin.version = origin.commit = "";
    origin.dirty = false;
    machines.insert(std::move(origin));
  }
  return machines.size();
}

/// The best rate, on one rank if possible: rates of several processors together are a different claim.
std::string best_of(const Results& results) {
  const auto best =
      std::max_element(results.headline.begin(), results.headline.end(), [](const auto& a, const auto& b) {
        const auto key = [](const Configuration& one) { return std::pair(one.first.ranks == 1, one.rate()); };
        return key(a) < key(b);
      });
  if (best == results.headline.end()) return " None is a verified result of a known build.";
  const RunLine& run = best->first;
  const sections::RateUnit unit = sections::rate_unit(results);
  return fmt::format(" The highest verified rate on {} is {} {} ({}, {}, {}, infer {} ms).",
                     counted(static_cast<std::size_t>(run.ranks), "rank", "ranks"),
                     significant(best->rate() / unit.size), unit.name, sections::problem_of(run),
                     sections::variant_of(run), sections::processor_of(run.origin),
                     significant(best->infer.median * 1e3));
}

std::string set_aside_text(std::size_t number) {
  if (number == 0) return "";
  return fmt::format("; {} set aside, {} reason", counted(number, "is", "are"),
                     number == 1 ? "with its" : "each with its");
}

std::string lines_text(const Results& results) {
  std::vector<std::string> kinds;
  if (results.run_lines > 0) kinds.push_back(counted(results.run_lines, "run", "runs") + " of `spdnn infer`");
  if (results.layer_lines > 0)
    kinds.push_back(counted(results.layer_lines, "measurement", "measurements") + " of `spdnn bench layers`");
  if (!results.models.empty())
    kinds.push_back(counted(results.models.size(), "run of a model", "runs of models") + " by `spdnn infer --model`");
  if (!results.model_benches.empty())
    kinds.push_back(counted(results.model_benches.size(), "measurement", "measurements") + " of `spdnn bench model`");
  if (!results.convolutions.empty())
    kinds.push_back(counted(results.convolutions.size(), "measurement", "measurements") + " of `spdnn bench conv`");
  return fmt::format(
      "{}, made on {} by {}.", fmt::join(kinds, " and "),
      counted(machines_of(results), "kind of machine", "kinds of machine"),
      counted(results.origins.size(), "combination of machine and build", "combinations of machine and build"));
}

std::string networks_text(const Results& results) {
  if (results.run_lines == 0) return "";
  return fmt::format(" {} {} verified, by a build without uncommitted changes{}.",
                     counted(results.headline.size(), "configuration", "configurations"),
                     results.headline.size() == 1 ? "is" : "are", set_aside_text(results.set_aside.size()));
}

/// Models are counted separately: their rates measure different work.
std::string models_text(const Results& results) {
  if (results.models.empty()) return "";
  const auto passed = static_cast<std::size_t>(std::count_if(
      results.models.begin(), results.models.end(), [](const auto& line) { return line.first.status == "PASSED"; }));
  return fmt::format(" Of the runs of models {} verified.", counted(passed, "is", "are"));
}

std::string results_summary(const Results& results, bool all) {
  std::string text = lines_text(results) + networks_text(results);
  if (!all && results.superseded > 0)
    text += fmt::format(" {} from earlier builds, replaced by later measurements, and not shown (`--all`).",
                        counted(results.superseded, "line is", "lines are"));
  if (results.run_lines > 0) text += best_of(results);
  return text + models_text(results);
}

void require_variant(const Results& results, const std::string& variant) {
  const auto in = [&](const std::vector<Configuration>& part) {
    return std::any_of(part.begin(), part.end(), [&](const auto& one) { return one.first.variant == variant; });
  };
  if (!variant.empty() && !in(results.headline) && !in(results.set_aside))
    throw UsageError(fmt::format("--baseline: no line is from the variant '{}'", variant));
}

}  // namespace

Document results_document(const ResultLines& lines, const ResultsRequest& request) {
  const Results results = evaluate(lines, request.all);
  require_variant(results, request.baseline_variant);
  Document document{request.title, results_summary(results, request.all), {}};
  const auto add = [&](std::optional<Section> section) {
    if (section) document.sections.push_back(std::move(*section));
  };
  add(sections::results(results));
  add(sections::machines(results));
  add(sections::variants(results));
  if (!request.baseline_variant.empty()) add(sections::speed_ups(results, request.baseline_variant));
  add(sections::others(results, request.baselines));
  add(sections::scaling(results));
  add(sections::phases(results));
  add(sections::alive(results));
  add(sections::layers(results));
  add(sections::models(results));
  add(sections::model_benches(results));
  add(sections::convolutions(results));
  add(sections::profiles(results));
  add(sections::device_state(results));
  add(sections::set_aside(results));
  add(sections::definitions(results));
  return document;
}

}  // namespace spdnn
