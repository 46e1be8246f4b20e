#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "report/sections/cells.hpp"
#include "report/sections/sections.hpp"

namespace spdnn::sections {

namespace {

/// What tells configurations apart and has no column of its own; empty where there is no such thing.
std::string setting_of(const RunLine& run) {
  const auto ranks = static_cast<std::uint64_t>(run.ranks);
  std::vector<std::string> parts;
  if (run.streamed) parts.emplace_back("streamed layers");
  if (run.batch * ranks < run.images) parts.push_back(fmt::format("batches of {}", run.batch));
  if (!run.scaling.empty()) parts.push_back(run.scaling + " scaling");
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::vector<Column> result_columns(const RateUnit& unit) {
  return {columns::neurons(),
          columns::layers(),
          columns::variant(),
          columns::infer(),
          columns::rate(unit),
          {"verdict", "", false, "PASSED: all categories are those of the truth that they were compared with"},
          {"processor"},
          {"count", "", true, "GPUs, or threads of the CPU"},
          columns::passes(),
          {"bias", "", true, "Added to sums that are not zero"},
          {"inputs", "", true, "Images that were computed, those without a non-zero included"},
          {"edges", "", true, "Stored weights of the network as given"},
          {"min", "ms", true, "The least of all trials of infer"},
          {"max", "ms", true, "The greatest of all trials of infer"},
          {"computed", unit.name, true,
           "Edges that the device computed / infer; none where the engine does not count them"},
          {"with set-up", unit.name, true, "Images x edges as given / (plan + share + upload + infer)"},
          {"end to end", unit.name, true,
           "Images x edges as given / total, from process start to the written result, less trials that do not count"},
          {"categories", "", true, "Images with a non-zero after the last layer"},
          {"read", "ms", true, "Reading or generating network and images"},
          {"read rate", "GE/s", true, "Edges as given / read"},
          {"setting", "", false, "Streamed layers, batches of fewer images than a rank had, the kind of a scaling run"},
          {"trials", "", true, "Trials of infer in each run"},
          {"runs", "", true, "Runs taken together: same configuration, machine and build"},
          columns::run_on()};
}

Row row_of(const Configuration& one, const RateUnit& unit) {
  const RunLine& run = one.first;
  const double read = one.phase("read");
  return {{Cell(run.neurons, static_cast<double>(run.width)),
           whole(run.layers),
           variant_of(run),
           milliseconds(one.infer.median),
           unit.cell(one.rate()),
           run.status,
           processor_of(run.origin),
           whole(processors_of(run)),
           run.passes,
           run.bias,
           whole(run.images),
           whole(run.edges),
           milliseconds(one.infer.min),
           milliseconds(one.infer.max),
           unit.cell(one.rate_computed()),
           unit.cell(one.rate_with_setup),
           unit.cell(one.rate_end_to_end),
           whole(run.categories),
           milliseconds(read),
           read > 0 ? number(static_cast<double>(run.edges) / read / 1e9) : Cell(),
           setting_of(run),
           whole(static_cast<std::uint64_t>(run.trials)),
           whole(one.runs),
           origin(one.origin)}};
}

Chart rates(const Results& results) {
  const RateUnit unit = rate_unit(results);
  Chart chart{.id = "rates",
              .title = "Rates of the fastest verified configuration of each problem",
              .description =
                  "Logarithmic axis. The first bar counts the edges of the network as given, the second what "
                  "the device computed of them, the third charges the set-up that finds what to leave out.",
              .kind = Chart::Kind::bars,
              .x = {unit.words, true},
              .series = {{"rate (as given / infer)"}, {"computed / infer"}, {"as given / (set-up + infer)"}}};
  for (const Configuration* one : fastest(results)) {
    const auto place = static_cast<double>(chart.categories.size());
    chart.categories.push_back(name_of(*one, results));
    const auto add = [&](std::size_t series, std::optional<double> rate) {
      if (rate && *rate > 0) chart.series[series].points.push_back({place, *rate / unit.size});
    };
    add(0, one->rate());
    add(1, one->rate_computed());
    add(2, one->rate_with_setup);
  }
  std::erase_if(chart.series, [](const Series& series) { return series.points.empty(); });
  return chart;
}

}  // namespace

std::optional<Section> results(const Results& results) {
  if (results.run_lines == 0) return std::nullopt;
  Section section{"results", "Results", {}};
  section.blocks.emplace_back(Paragraph{
      "The headline figures: every configuration whose categories were verified, by a build without changes. Runs of "
      "one "
      "configuration on one machine by one build are one row; of several builds the last one counts. The last column "
      "leads to the machine and the commit; what each column counts is said at the end."});
  if (results.headline.empty()) {
    section.blocks.emplace_back(
        Paragraph{"There are none. `--verify N` with all images, or `--mnist`, makes them verified: `spdnn infer` then "
                  "compares all "
                  "categories with the truth."});
    return section;
  }
  section.blocks.emplace_back(rates(results));
  const RateUnit unit = rate_unit(results);
  Table table{"submission", "Verified results, in the form of a Graph Challenge submission.", result_columns(unit), {}};
  for (const Configuration& one : results.headline) table.rows.push_back(row_of(one, unit));
  section.blocks.emplace_back(std::move(table));
  return section;
}

std::optional<Section> set_aside(const Results& results) {
  if (results.set_aside.empty()) return std::nullopt;
  const RateUnit unit = rate_unit(results);
  Table table{"set-aside", "Not among the headline figures, the charts and the comparisons.", result_columns(unit), {}};
  table.columns.insert(table.columns.begin(), {"why", "", false, "What keeps it from the headline figures"});
  table.columns.insert(table.columns.begin() + 1, {"compared with", "", false, "What the verdict rests on"});
  for (const Configuration& one : results.set_aside) {
    Row row = row_of(one, unit);
    row.apart = true;
    row.cells.insert(row.cells.begin(), {one.set_aside, one.first.against});
    table.rows.push_back(std::move(row));
  }
  Section section{"unverified", "Not verified, wrong, made in parts, or of no known build", {}};
  section.blocks.emplace_back(Paragraph{
      "These runs happened, but nothing says that their categories are right, or which code made them, or they "
      "are known to be wrong, or were stopped and continued, so that their times are sums."});
  section.blocks.emplace_back(std::move(table));
  return section;
}

}  // namespace spdnn::sections
