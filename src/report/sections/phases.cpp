#include <algorithm>

#include "report/sections/cells.hpp"
#include "report/sections/sections.hpp"

namespace spdnn::sections {

namespace {

/// The phases that add up to `total`, with all trials of infer; other names are parts of these, or run in parallel with
/// them.
constexpr const char* kStacked[] = {"load",    "join",  "read",       "plan",   "start waited", "share", "upload",
                                    "warm_up", "infer", "checkpoint", "gather", "write",        "other"};

std::vector<std::string> names_of(const Results& results) {
  std::vector<std::string> names;
  for (const Configuration& one : results.headline)
    for (const auto& phase : one.phases)
      if (std::find(names.begin(), names.end(), phase.first) == names.end()) names.push_back(phase.first);
  return names;
}

Table phase_table(const Results& results) {
  const std::vector<std::string> names = names_of(results);
  Table table{"phases-table",
              "Every phase of the headline configurations: medians over their runs.",
              {columns::neurons(), columns::layers(), columns::variant(), columns::passes(), columns::infer()},
              {}};
  for (const std::string& name : names) table.columns.push_back({name, "ms", true});
  table.columns.push_back({"total", "ms", true, "From process start to the written result, with all trials"});
  table.columns.push_back({"trials", "", true});
  table.columns.push_back(columns::run_on());
  for (const Configuration& one : results.headline) {
    Row row{{Cell(one.first.neurons, static_cast<double>(one.first.width)), whole(one.first.layers),
             variant_of(one.first), one.first.passes, milliseconds(one.infer.median)}};
    for (const std::string& name : names) {
      const auto phase =
          std::find_if(one.phases.begin(), one.phases.end(), [&](const auto& p) { return p.first == name; });
      row.cells.push_back(phase == one.phases.end() ? Cell() : milliseconds(phase->second));
    }
    row.cells.push_back(milliseconds(one.total));
    row.cells.push_back(whole(static_cast<std::uint64_t>(one.first.trials)));
    row.cells.push_back(origin(one.origin));
    table.rows.push_back(std::move(row));
  }
  return table;
}

Chart phase_chart(const Results& results) {
  Chart chart{.id = "phases-chart",
              .title = "Where the time of a run goes",
              .description =
                  "The fastest verified configuration of each problem, one trial of infer: the phases from process "
                  "start to the written result, one after another.",
              .kind = Chart::Kind::stacked_bars,
              .x = {"ms"}};
  for (const char* name : kStacked) chart.series.push_back({name});
  for (const Configuration* one : fastest(results)) {
    const auto place = static_cast<double>(chart.categories.size());
    chart.categories.push_back(name_of(*one, results));
    for (Series& series : chart.series) {
      const double seconds = series.name == "infer" ? one->infer.median : one->phase(series.name);
      series.points.push_back({place, seconds * 1e3});
    }
  }
  std::erase_if(chart.series, [](const Series& series) {
    return std::all_of(series.points.begin(), series.points.end(), [](const Point& point) { return point.y == 0; });
  });
  return chart;
}

}  // namespace

std::optional<Section> phases(const Results& results) {
  if (results.headline.empty()) return std::nullopt;
  return Section{"phases", "Phases", {phase_chart(results), phase_table(results)}};
}

}  // namespace spdnn::sections
