#include <fmt/format.h>

#include <algorithm>

#include "report/sections/cells.hpp"
#include "report/sections/sections.hpp"

namespace spdnn::sections {

namespace {

using Group = std::vector<const Configuration*>;  ///< sorted by number of ranks

/// Equal if two runs may be points of one series: weak scaling has different images at each point.
std::string series_key(const RunLine& run) {
  return fmt::format("{}, {}, {}, {} trials, {}", run.scaling == "weak" ? network_key(run) : problem_key(run),
                     run.variant, run.passes, run.trials, run.scaling);
}

/// For runs with the same key. Threads and hosts may differ from point to point; everything else must be equal.
bool same_series(const Configuration& a, const Configuration& b) {
  return may_share_images(a.first, b.first) && a.first.precision == b.first.precision &&
         a.first.origin.device == b.first.origin.device && a.first.origin.cpu == b.first.origin.cpu &&
         a.first.origin.same_build(b.first.origin);
}

std::vector<Group> scaling_groups(const Results& results) {
  std::vector<Group> groups;
  Candidates<std::size_t> candidates;
  for (const std::vector<Configuration>* part : {&results.headline, &results.set_aside})
    for (const Configuration& one : *part) {
      if (one.first.failed()) continue;
      const std::string key = series_key(one.first);
      const auto fits = [&](std::size_t place) { return same_series(*groups[place].front(), one); };
      if (const std::size_t* const place = candidates.find(key, fits)) {
        groups[*place].push_back(&one);
      } else {
        candidates.add(key, groups.size());
        groups.push_back({&one});
      }
    }
  for (Group& group : groups)
    std::stable_sort(group.begin(), group.end(),
                     [](const auto* a, const auto* b) { return a->first.ranks < b->first.ranks; });
  std::erase_if(groups, [](const Group& group) { return group.front()->first.ranks == group.back()->first.ranks; });
  return groups;
}

/// The work per rank and second, as a share of the first point's.
double efficiency(const Configuration& first, const Configuration& one, double first_seconds, double seconds) {
  const double work = one.first.work() / first.first.work();
  const double ranks = static_cast<double>(one.first.ranks) / first.first.ranks;
  return first_seconds / seconds * work / ranks;
}

Table table_of(const std::vector<Group>& groups, const RateUnit& unit) {
  Table table{"scaling-table",
              "One problem on increasing numbers of ranks. Efficiency: work per rank and second, as a share of the "
              "first row's.",
              {columns::neurons(),
               columns::layers(),
               {"inputs", "", true},
               columns::variant(),
               columns::passes(),
               {"kind", "", false, "Weak: a fixed number of images per rank; strong: a fixed total"},
               {"ranks", "", true},
               columns::infer(),
               {"efficiency of infer", "%", true},
               columns::rate(unit),
               {"total", "ms", true},
               {"efficiency of total", "%", true},
               {"verdict"},
               columns::run_on()},
              {}};
  for (const Group& group : groups)
    for (const Configuration* one : group) {
      const Configuration& first = *group.front();
      table.rows.push_back(
          {{Cell(one->first.neurons, static_cast<double>(one->first.width)), whole(one->first.layers),
            whole(one->first.images), variant_of(one->first), one->first.passes,
            one->first.scaling.empty() ? std::string("strong") : one->first.scaling,
            whole(static_cast<std::uint64_t>(one->first.ranks)), milliseconds(one->infer.median),
            percent(efficiency(first, *one, first.infer.median, one->infer.median)), unit.cell(one->rate()),
            milliseconds(one->total), percent(efficiency(first, *one, first.total, one->total)), one->first.status,
            origin(one->origin)},
           !one->set_aside.empty()});
    }
  return table;
}

Chart chart_of(const std::vector<Group>& groups, const RateUnit& unit) {
  Chart chart{.id = "scaling-chart",
              .title = "Rate by number of ranks",
              .description =
                  "Verified runs only, both axes logarithmic. Perfect scaling doubles the rate when the ranks double.",
              .kind = Chart::Kind::lines,
              .x = {"ranks", true},
              .y = {unit.words, true}};
  for (const Group& group : groups) {
    Series series{fmt::format("{}, {}", problem_of(group.front()->first), variant_of(group.front()->first))};
    for (const Configuration* one : group)
      if (one->set_aside.empty())
        series.points.push_back({static_cast<double>(one->first.ranks), one->rate() / unit.size});
    if (series.points.size() > 1) chart.series.push_back(std::move(series));
  }
  return chart;
}

}  // namespace

std::optional<Section> scaling(const Results& results) {
  const std::vector<Group> groups = scaling_groups(results);
  if (groups.empty()) return std::nullopt;
  Section section{"scaling", "Scaling", {}};
  Chart chart = chart_of(groups, rate_unit(results));
  if (!chart.series.empty()) section.blocks.emplace_back(std::move(chart));
  section.blocks.emplace_back(table_of(groups, rate_unit(results)));
  return section;
}

}  // namespace spdnn::sections
