#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/sections/cells.hpp"
#include "report/sections/sections.hpp"

namespace spdnn::sections {

namespace {

/// The properties that distinguish configurations but have no column of their own; empty if there are none.
std::string setting_of(const RunLine& run) {
  const auto ranks = static_cast<std::uint64_t>(run.ranks);
  std::vector<std::string> parts;
  if (run.streamed) parts.emplace_back("streamed layers");
  if (run.batch * ranks < run.images) parts.push_back(fmt::format("batches of {}", run.batch));
  if (!run.scaling.empty()) parts.push_back(run.scaling + " scaling");
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::vector<Column> result_columns(const RateUnit& unit) {
  return {
      columns::neurons(),
      columns::layers(),
      columns::variant(),
      columns::infer(),
      columns::rate(unit),
      {"verdict", "", false, "PASSED: all categories equal the true ones"},
      {"processor"},
      {"count", "", true, "GPUs, or threads of the CPU"},
      columns::passes(),
      {"bias", "", true, "Added to non-zero sums"},
      {"inputs", "", true, "Images that were computed, including those without a non-zero"},
      {"edges", "", true, "Stored weights of the network as given"},
      {"min", "ms", true, "The minimum over all trials of infer"},
      {"max", "ms", true, "The maximum over all trials of infer"},
      {"computed", unit.name, true, "Edges computed by the device / infer; empty if the engine does not count them"},
      {"with set-up", unit.name, true, "Images x edges as given / (plan + share + upload + infer)"},
      {"end to end", unit.name, true,
       "Images x edges as given / total, from process start to the written result, without warm-up trials"},
      {"categories", "", true, "Images with a non-zero after the last layer"},
      {"read", "ms", true, "Time to read or generate network and images"},
      {"read rate", "GE/s", true, "Edges as given / read"},
      {"setting", "", false, "Streamed layers, batches smaller than a rank's images, the kind of a scaling run"},
      {"trials", "", true, "Trials of infer in each run"},
      {"runs", "", true, "Combined runs: same configuration, machine and build"},
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
                  "Logarithmic axis. The first bar counts the edges of the network as given, the second those that the "
                  "device computed, the third includes the time of the set-up that finds the work to skip.",
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
      "The headline figures: every configuration whose categories were verified, by a build without uncommitted "
      "changes. Runs of one configuration on one machine by one build are one row; of several builds the last one "
      "counts. The last column links to the machine and the commit; the columns are defined at the end."});
  if (results.headline.empty()) {
    section.blocks.emplace_back(
        Paragraph{"There are none. Use `--verify N` with all images, or `--mnist`: `spdnn infer` then compares all "
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
  Table table{
      "set-aside", "Excluded from the headline figures, the charts and the comparisons.", result_columns(unit), {}};
  table.columns.insert(table.columns.begin(), {"why", "", false, "Reason for the exclusion"});
  table.columns.insert(table.columns.begin() + 1, {"compared with", "", false, "Basis of the verdict"});
  for (const Configuration& one : results.set_aside) {
    Row row = row_of(one, unit);
    row.apart = true;
    row.cells.insert(row.cells.begin(), {one.set_aside, one.first.against});
    table.rows.push_back(std::move(row));
  }
  Section section{"unverified", "Not verified, wrong, made in parts, or by an unknown build", {}};
  section.blocks.emplace_back(
      Paragraph{"The categories of these runs are unverified, or the code that ran is unknown, or they are known to be "
                "wrong, or the run was stopped and continued, so that its times are sums."});
  section.blocks.emplace_back(std::move(table));
  return section;
}

}  // namespace spdnn::sections
