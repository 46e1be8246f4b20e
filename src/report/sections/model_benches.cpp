#include <fmt/format.h>

#include "report/sections/cells.hpp"
#include "report/sections/sections.hpp"

namespace spdnn::sections {

namespace {

Row bench_row(const ModelBenchLine& line, const std::string& program, const ModelTimes& times, std::size_t place) {
  return {{line.model, program, whole(line.batch), whole(line.origin.threads), whole(times.runs),
           milliseconds(times.p50), milliseconds(times.p90), milliseconds(times.p99), number(times.images_per_second),
           Cell(), number(line.load, 3), Cell(), origin(place)}};
}

Table times_table(const Results& results) {
  Table table{
      "model-times",
      "Random images of the model's shape, from images in memory to outputs in memory. Another program that was "
      "timed in turns with ours is in the row after it.",
      {{"model", "", false, "The file, as given on the command line"},
       {"program", "", false, "Our variant, with its precision unless that is fp32, or another program"},
       {"batch", "", true, "Images at a time"},
       {"threads", "", true},
       {"runs", "", true},
       {"p50", "ms", true, "The time that half of the runs did not exceed"},
       {"p90", "ms", true, "The same of 90 %"},
       {"p99", "ms", true, "The same of 99 %"},
       {"rate", "images/s", true, "Images / p50"},
       {"ours / its", "", true, "Our time / the other program's: the median over turns of the turns' medians"},
       {"load", "", true, "Runnable threads of the machine per processor, before the runs"},
       {"outputs", "", false, "Whether the other program's outputs are ours, within the verdict's tolerance"},
       columns::run_on()},
      {}};
  constexpr std::size_t kRatio = 9;
  constexpr std::size_t kOutputs = 11;
  for (const auto& [line, place] : results.model_benches) {
    table.rows.push_back(bench_row(line, variant_of(line), line.times, place));
    if (!line.with) continue;
    table.rows.push_back(bench_row(line, line.with->name, line.with->times, place));
    table.rows.back().cells[kRatio] = number(line.with->ratio.median);
    table.rows.back().cells[kOutputs] = line.with->agree ? "agree" : "DIFFER";
    table.rows.back().apart = !line.with->agree;
  }
  return table;
}

Chart times_chart(const Results& results) {
  constexpr std::size_t kMost = 40;
  Chart chart{.id = "model-times-chart",
              .title = "Time of a batch",
              .description = "The time that half of the runs did not exceed. Lower is better.",
              .kind = Chart::Kind::bars,
              .x = {"ms"}};
  for (const auto& [line, place] : results.model_benches) {
    if (chart.categories.size() == kMost) break;
    const auto category = static_cast<double>(chart.categories.size());
    points_of(chart, {.name = "spdnn"}).push_back({category, line.times.p50 * 1e3});
    if (line.with) points_of(chart, {.name = line.with->name}).push_back({category, line.with->times.p50 * 1e3});
    chart.categories.push_back(name_of(line, place, results));
  }
  if (results.model_benches.size() > kMost)
    chart.description += fmt::format(" {} more are omitted.", results.model_benches.size() - kMost);
  return chart;
}

}  // namespace

std::optional<Section> model_benches(const Results& results) {
  if (results.model_benches.empty()) return std::nullopt;
  return Section{"model-benches", "Times of models", {times_chart(results), times_table(results)}};
}

}  // namespace spdnn::sections
