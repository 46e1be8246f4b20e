#include "report/prune_document.hpp"

#include <fmt/format.h>

#include <utility>

#include "core/text/amounts.hpp"
#include "core/text/message.hpp"
#include "core/types/share_of_zeros.hpp"
#include "report/by_layer.hpp"
#include "report/sections/cells.hpp"
#include "report/significant.hpp"

namespace spdnn {

using sections::number;
using sections::whole;

namespace {

Cell microseconds_cell(double seconds) { return number(1e6 * seconds); }
Cell error_cell(const std::optional<double>& error) { return error ? number(*error) : Cell(); }

/// In per cent.
double zeros_before(const PrunedLayer& layer) { return 100 * share_of_zeros(layer.weights, layer.nonzeros_before); }
double zeros_after(const PrunedLayer& layer) { return 100 * share_of_zeros(layer.weights, layer.nonzeros_after); }

std::string title_of_layer(const PrunedLayer& layer) {
  return fmt::format("node {}{}", layer.node + 1, layer.name.empty() ? "" : ", " + escaped(layer.name));
}

Row pruned_row(const Cell& node, const PrunedLayer& layer, bool timed) {
  Row row{{node, layer.operation, escaped(layer.name), whole(layer.weights), number(zeros_before(layer)),
           number(zeros_after(layer)), microseconds_cell(layer.seconds_before),
           microseconds_cell(layer.seconds_after)}};
  const auto measured = [&](const Cell& cell) { row.cells.push_back(timed ? cell : Cell()); };
  measured(microseconds_cell(layer.measured_before));
  measured(microseconds_cell(layer.measured_after));
  measured(layer.measured_after > 0 ? number(layer.measured_before / layer.measured_after, 3) : Cell());
  row.cells.push_back(error_cell(layer.error_before));
  row.cells.push_back(error_cell(layer.error_after));
  return row;
}

Table layers_table(const PruneReport& report) {
  Table table{
      "pruned-table",
      "Every node with weights, before and after; times of all nodes are in the last row.",
      {{"node", "", true},
       {"operation"},
       {"name"},
       {"weights", "", true, "Zeros included"},
       {"zeros", "%", true, "Share of the weights that were zero before"},
       {"zeros after", "%", true},
       {"predicted", "us", true, "Time for a batch, by the planner"},
       {"predicted after", "us", true},
       {"measured", "us", true, "The shortest time of the node in several runs of both models by turns"},
       {"measured after", "us", true},
       {"times as fast", "", true, "As measured"},
       {"error", "", true, "Of the output on the calibration images, relative to the dense model's, unrepaired"},
       {"repaired", "", true, "The error after the repair"}},
      {}};
  const bool timed = report.timed_runs > 0;
  for (const PrunedLayer& layer : report.layers) table.rows.push_back(pruned_row(whole(layer.node + 1), layer, timed));
  table.rows.push_back(pruned_row("all", total_of(report), timed));
  table.rows.back().apart = true;
  return table;
}

/// Points of the layers, by node; not joined, because other nodes lie between them.
template <class Value>
Series by_layer(const PruneReport& report, std::string name, Value value) {
  Series series{.name = std::move(name), .line = false};
  for (const PrunedLayer& layer : report.layers)
    series.points.push_back({static_cast<double>(layer.node + 1), value(layer), title_of_layer(layer)});
  return series;
}

Section pruned_layers_section(const PruneReport& report) {
  Section section{"layers", "Layers", {}};
  section.blocks.emplace_back(
      zeros_by_node("Share of each node's weights that are zero, before and after.",
                    {by_layer(report, "before", zeros_before), by_layer(report, "after", zeros_after)}));
  Chart times{.id = "times",
              .title = "Time by node",
              .description = "Predicted and measured time of each node with weights, before and after.",
              .kind = Chart::Kind::lines,
              .x = {"node"},
              .y = {"us"}};
  times.series = {
      by_layer(report, "predicted", [](const PrunedLayer& layer) { return 1e6 * layer.seconds_before; }),
      by_layer(report, "predicted after", [](const PrunedLayer& layer) { return 1e6 * layer.seconds_after; })};
  if (report.timed_runs > 0) {
    times.series.push_back(
        by_layer(report, "measured", [](const PrunedLayer& layer) { return 1e6 * layer.measured_before; }));
    times.series.push_back(
        by_layer(report, "measured after", [](const PrunedLayer& layer) { return 1e6 * layer.measured_after; }));
  }
  times.series = without_twins(times.series);
  section.blocks.emplace_back(std::move(times));
  section.blocks.emplace_back(layers_table(report));
  return section;
}

Table loss_table(const PruneMeasure& measure) {
  Table table{"loss-table",
              fmt::format("On {} from image {}. Agreement: predictions that are the dense model's. Distance: of the "
                          "outputs, relative to the dense model's.",
                          counted(measure.images, "image", "images"), measure.first + 1),
              {{"measure"}, {"before", "", true}, {"after", "", true}},
              {}};
  if (measure.accuracy_before)
    table.rows.push_back(
        {{"accuracy (%)", number(100 * *measure.accuracy_before), number(100 * measure.accuracy_after.value_or(0))}});
  if (measure.agreement) table.rows.push_back({{"agreement (%)", number(100), number(100 * *measure.agreement)}});
  table.rows.push_back({{"distance", number(0), number(measure.distance)}});
  return table;
}

Section loss_section(const PruneReport& report) {
  Section section{"loss", "What was lost", {}};
  section.blocks.emplace_back(Paragraph{fmt::format(
      "Method: {}. {}", report.method,
      report.calibrated == 0
          ? "No images were given, so that nothing was repaired and no loss was measured."
          : fmt::format("{} for scores and repair.", counted(report.calibrated, "image was", "images were")))});
  for (const std::string& note : report.notes) section.blocks.emplace_back(Paragraph{escaped(note) + "."});
  if (report.measure) section.blocks.emplace_back(loss_table(*report.measure));
  return section;
}

std::string share_name(double share) { return fmt::format("{:.3g} % zeros", 100 * share); }

/// The trials of the search, a series for each share.
Section search_section(const PruneReport& report) {
  Section section{"search", "Each layer alone", {}};
  Chart chart{
      .id = "losses",
      .title = "Loss by node and share of zeros",
      .description = "Distance of the outputs from the dense model's where this node alone is pruned and repaired.",
      .kind = Chart::Kind::lines,
      .x = {"node"},
      .y = {"relative distance"}};
  Table table{"trials-table",
              "The search's trials: each layer alone was given these shares of zeros.",
              {{"node", "", true},
               {"name"},
               {"zeros", "%", true},
               {"loss", "", true, "Distance of the outputs on calibration images, relative to the dense model's"},
               {"predicted", "us", true, "Time of the node, by the planner"}},
              {}};
  for (const PrunedLayer& layer : report.layers)
    for (const PruneTrial& trial : layer.trials) {
      sections::points_of(chart, {.name = share_name(trial.share), .line = false})
          .push_back({static_cast<double>(layer.node + 1), trial.loss, title_of_layer(layer)});
      table.rows.push_back({{whole(layer.node + 1), escaped(layer.name), number(100 * trial.share), number(trial.loss),
                             microseconds_cell(trial.seconds)}});
    }
  section.blocks.emplace_back(std::move(chart));
  section.blocks.emplace_back(std::move(table));
  return section;
}

std::string summary_of_pruning(const PruneReport& report) {
  const PrunedLayer total = total_of(report);
  std::string text =
      fmt::format("{}: {} % of {} weights are zero, where {} % were. Predicted {} instead of {} for {} with {}",
                  escaped(report.out), significant(zeros_after(total)), total.weights, significant(zeros_before(total)),
                  seconds_text(report.seconds_after), seconds_text(report.seconds_before),
                  counted(report.batch, "image", "images"), counted(report.threads, "thread", "threads"));
  if (report.timed_runs > 0)
    text += fmt::format("; measured {} instead of {}{}, of the shortest of {} for each node",
                        seconds_text(report.measured_after), seconds_text(report.measured_before),
                        times_as_fast(", ", report.measured_before, report.measured_after),
                        counted(report.timed_runs, "run", "runs"));
  return text + ".";
}

}  // namespace

Document prune_document(const PruneReport& report) {
  Document document{"Pruned model " + escaped(report.model), summary_of_pruning(report), {}};
  document.sections.push_back(loss_section(report));
  document.sections.push_back(pruned_layers_section(report));
  for (const PrunedLayer& layer : report.layers)
    if (!layer.trials.empty()) {
      document.sections.push_back(search_section(report));
      break;
    }
  return document;
}

}  // namespace spdnn
