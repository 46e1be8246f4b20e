#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "report/sections/cells.hpp"
#include "report/sections/sections.hpp"

namespace spdnn::sections {

namespace {

bool comparable(const Configuration& a, const Configuration& b) {
  return same_problem(a.first, b.first) && a.first.ranks == b.first.ranks &&
         a.first.origin.same_machine(b.first.origin);
}

bool is_dead_alone(const Configuration& one) { return one.first.passes == "dead"; }

/// The variant's runs that can serve as baselines: for each problem the fastest, and the fastest with only the pass
/// `dead`.
Candidates<const Configuration*> baselines_of(const Results& results, const std::string& variant) {
  Candidates<const Configuration*> baselines;
  for (const Configuration& one : results.headline) {
    if (one.first.variant != variant) continue;
    const std::string key = problem_key(one.first);
    const auto as_good = [&](const Configuration* other) {
      return comparable(*other, one) && other->first.official_images == one.first.official_images &&
             (is_dead_alone(*other) || !is_dead_alone(one));
    };
    if (baselines.find(key, as_good) == nullptr) baselines.add(key, &one);
  }
  return baselines;
}

/// The baseline of a configuration: the variant's own fastest run of the same problem on the same machine, with only
/// the pass `dead` if possible, as in published systems.
const Configuration* baseline_of(const Configuration& one, const Candidates<const Configuration*>& baselines) {
  const Configuration* best = nullptr;
  for (const Configuration* const other : baselines.with(problem_key(one.first)))
    if (comparable(*other, one) && (best == nullptr || (is_dead_alone(*other) && !is_dead_alone(*best)))) best = other;
  return best;
}

Cell size_cell(std::uint64_t stated) { return stated > 0 ? whole(stated) : Cell(); }

/// Rounds to two digits: clocks and machines differ, so more would be meaningless.
Cell ratio_of(double ours, double theirs) {
  const double unit = std::pow(10, std::floor(std::log10(ours / theirs)) - 1);
  return number(std::round(ours / theirs / unit) * unit, 2);
}

Row other_row(const Baseline& other, const RateUnit& unit) {
  return {{size_cell(other.neurons), size_cell(other.layers), other.system, other.processor, whole(other.count),
           size_cell(other.images), other.seconds ? milliseconds(*other.seconds) : Cell(), unit.cell(other.rate()),
           other.counted, other.measured, other.source},
          true};
}

/// The fastest on at most as many ranks as the other system had processors.
const Configuration* ours_for(const Baseline& other, const Results& results) {
  const Configuration* best = nullptr;
  for (const Configuration& one : results.headline) {
    if (one.first.neurons != std::to_string(other.neurons) || one.first.layers != other.layers ||
        one.first.images != other.images || static_cast<std::uint64_t>(one.first.ranks) > other.count ||
        static_cast<double>(one.first.edges) * static_cast<double>(other.images) != other.work())
      continue;
    if (best == nullptr || one.infer.median < best->infer.median) best = &one;
  }
  return best;
}

Table others_table(const std::vector<Baseline>& baselines, const RateUnit& unit) {
  Table table{"others-table",
              "Other systems, as stated in their sources; where no rate is stated, it is images x edges / time.",
              {columns::neurons(),
               columns::layers(),
               {"system"},
               {"processor"},
               {"count", "", true},
               {"inputs", "", true},
               {"time", "ms", true, "As stated; the column counted describes what it includes"},
               {"rate", unit.name, true},
               {"counted", "", false, "Parts of the time"},
               {"measured", "", false, "Published by its authors, or their program run by us"},
               {"source"}},
              {}};
  for (const Baseline& other : baselines) table.rows.push_back(other_row(other, unit));
  return table;
}

Table against_table(const Results& results, const std::vector<Baseline>& baselines, const RateUnit& unit) {
  Table table{
      "against-others",
      "Our fastest verified configuration of a problem of the same size beside each system. Rates count edges of the "
      "network as given, including those that our passes skipped; clocks, machines and permutations may differ.",
      {columns::neurons(),
       columns::layers(),
       columns::variant(),
       columns::passes(),
       columns::infer(),
       columns::rate(unit),
       {"other system"},
       {"on"},
       {"count", "", true},
       {"its rate", unit.name, true},
       {"ratio of rates", "", true},
       {"measured"},
       columns::run_on()},
      {}};
  for (const Baseline& other : baselines) {
    const Configuration* const ours = ours_for(other, results);
    if (ours == nullptr) continue;
    table.rows.push_back(
        {{whole(other.neurons), whole(other.layers), variant_of(ours->first), ours->first.passes,
          milliseconds(ours->infer.median), unit.cell(ours->rate()), other.system, other.processor, whole(other.count),
          unit.cell(other.rate()), ratio_of(ours->rate(), other.rate()), other.measured, origin(ours->origin)}});
  }
  return table;
}

}  // namespace

std::optional<Section> speed_ups(const Results& results, const std::string& baseline) {
  Table table{"speed-ups-table",
              fmt::format("infer of `{}` / infer of each other configuration.", baseline),
              {columns::neurons(),
               columns::layers(),
               columns::variant(),
               columns::passes(),
               columns::infer(),
               {"baseline's passes"},
               {"baseline's infer", "ms", true},
               {"speed-up", "", true},
               columns::run_on(),
               {"baseline run on", "", true}},
              {}};
  Chart chart{.id = "speed-ups-chart",
              .title = "Speed-up over " + baseline,
              .description = "Logarithmic axis. The fastest verified configuration of each problem.",
              .kind = Chart::Kind::bars,
              .x = {"times as fast", true},
              .series = {{"speed-up"}}};
  const Candidates<const Configuration*> baselines = baselines_of(results, baseline);
  const std::vector<const Configuration*> all_fastest = fastest(results);
  const std::set<const Configuration*> best(all_fastest.begin(), all_fastest.end());
  for (const Configuration& one : results.headline) {
    const Configuration* const base = baseline_of(one, baselines);
    if (base == nullptr || base == &one) continue;
    const double speed_up = base->infer.median / one.infer.median;
    table.rows.push_back(
        {{Cell(one.first.neurons, static_cast<double>(one.first.width)), whole(one.first.layers), variant_of(one.first),
          one.first.passes, milliseconds(one.infer.median), base->first.passes, milliseconds(base->infer.median),
          number(speed_up, 3), origin(one.origin), origin(base->origin)}});
    if (!best.contains(&one)) continue;
    chart.series[0].points.push_back({static_cast<double>(chart.categories.size()), speed_up});
    chart.categories.push_back(name_of(one, results));
  }
  if (table.rows.empty()) return std::nullopt;
  Section section{"speed-ups", "Speed-ups over " + baseline, {}};
  section.blocks.emplace_back(
      Paragraph{"The baseline of each row solved the same problem on the same machine, with only the pass `dead` if "
                "there is such a run; the builds may differ, as the last two columns show."});
  if (!chart.categories.empty()) section.blocks.emplace_back(std::move(chart));
  section.blocks.emplace_back(std::move(table));
  return section;
}

std::optional<Section> others(const Results& results, const std::vector<Baseline>& baselines) {
  if (baselines.empty()) return std::nullopt;
  Section section{"others", "Other systems", {}};
  section.blocks.emplace_back(
      Paragraph{"None of these numbers is from a run of spdnn. They are quoted as published, for the machine and the "
                "clocks of the authors; the charts omit them."});
  double greatest = 0;
  for (const Baseline& other : baselines) greatest = std::max(greatest, other.rate());
  const RateUnit unit = unit_of(greatest);
  Table against = against_table(results, baselines, unit);
  if (!against.rows.empty()) section.blocks.emplace_back(std::move(against));
  section.blocks.emplace_back(others_table(baselines, unit));
  return section;
}

}  // namespace spdnn::sections
