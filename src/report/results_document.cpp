#include "report/results_document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "core/counted.hpp"
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

/// Of configurations on one rank, where there are any: what several processors reach together is another claim.
std::string best_of(const Results& results) {
  const auto best =
      std::max_element(results.headline.begin(), results.headline.end(), [](const auto& a, const auto& b) {
        const auto key = [](const Configuration& one) { return std::pair(one.first.ranks == 1, one.rate()); };
        return key(a) < key(b);
      });
  if (best == results.headline.end()) return "None of them is a verified result of a known build.";
  const RunLine& run = best->first;
  return fmt::format("The highest verified rate on {} is {} TE/s ({}, {}, {}, infer {} ms).",
                     counted(static_cast<std::size_t>(run.ranks), "rank", "ranks"), significant(best->rate() / 1e12),
                     sections::problem_of(run), sections::variant_of(run), sections::processor_of(run.origin),
                     significant(best->infer.median * 1e3));
}

std::string set_aside_text(std::size_t number) {
  if (number == 0) return "";
  return fmt::format("; {} set aside, {} reason", counted(number, "is", "are"),
                     number == 1 ? "with its" : "each with its");
}

std::string summary_of(const Results& results, bool all) {
  std::string text = fmt::format(
      "{} of `spdnn infer`{}, made on {} by {}. {} {} verified by a build without changes{}. ",
      counted(results.run_lines, "run", "runs"),
      results.layer_lines == 0
          ? ""
          : fmt::format(" and {} of `spdnn bench layers`", counted(results.layer_lines, "measurement", "measurements")),
      counted(machines_of(results), "kind of machine", "kinds of machine"),
      counted(results.origins.size(), "combination of machine and build", "combinations of machine and build"),
      counted(results.headline.size(), "configuration", "configurations"), results.headline.size() == 1 ? "is" : "are",
      set_aside_text(results.set_aside.size()));
  if (!all && results.superseded > 0)
    text += fmt::format("{} of earlier builds, replaced by later measurements of the same, not shown (`--all`). ",
                        counted(results.superseded, "line is", "lines are"));
  return text + best_of(results);
}

/// Models are counted by themselves: their rates are of other work.
std::string models_text(const std::vector<ModelLine>& models) {
  if (models.empty()) return "";
  return fmt::format(" {} in a section of their own.",
                     counted(models.size(), "run of a model stands", "runs of models stand"));
}

void require_variant(const Results& results, const std::string& variant) {
  const auto in = [&](const std::vector<Configuration>& part) {
    return std::any_of(part.begin(), part.end(), [&](const auto& one) { return one.first.variant == variant; });
  };
  if (!variant.empty() && !in(results.headline) && !in(results.set_aside))
    throw UsageError(fmt::format("--baseline: no line is of the variant '{}'", variant));
}

}  // namespace

Document results_document(const ResultLines& lines, const ResultsRequest& request) {
  const Results results = evaluate(lines, request.all);
  require_variant(results, request.baseline_variant);
  Document document{request.title, summary_of(results, request.all) + models_text(lines.models), {}};
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
  add(sections::models(lines.models));
  add(sections::device_state(results));
  add(sections::set_aside(results));
  add(sections::definitions());
  return document;
}

}  // namespace spdnn
