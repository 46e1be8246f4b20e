#include "report/prune_report.hpp"

#include <fmt/format.h>

#include "core/text/amounts.hpp"
#include "core/text/json_text.hpp"
#include "core/text/message.hpp"
#include "core/types/share_of_zeros.hpp"
#include "report/significant.hpp"

namespace spdnn {

namespace {

constexpr const char* kLayerRow = "{:>5} {:<12} {:>9} {:>7} {:>7} {:>12} {:>9} {:>11} {:>9} {:>7} {:>7}  {}\n";

std::string percent_of_all(double share) { return fmt::format("{:.2f}", 100 * share); }
std::string microseconds(double seconds) { return fmt::format("{:.1f}", 1e6 * seconds); }
std::string relative_error(const std::optional<double>& error) { return error ? fmt::format("{:.4f}", *error) : ""; }

std::string layer_row(const std::string& node, const std::string& operation, const PrunedLayer& layer, bool timed,
                      const std::string& name) {
  const auto measured = [&](double seconds) { return timed ? microseconds(seconds) : std::string(); };
  return fmt::format(fmt::runtime(kLayerRow), node, operation, layer.weights,
                     percent_of_all(share_of_zeros(layer.weights, layer.nonzeros_before)),
                     percent_of_all(share_of_zeros(layer.weights, layer.nonzeros_after)),
                     microseconds(layer.seconds_before), microseconds(layer.seconds_after),
                     measured(layer.measured_before), measured(layer.measured_after),
                     relative_error(layer.error_before), relative_error(layer.error_after), name);
}

std::string measure_text(const PruneMeasure& measure) {
  std::string text =
      fmt::format("measured   on {} from image {}\n", counted(measure.images, "image", "images"), measure.first + 1);
  if (measure.accuracy_before)
    text += fmt::format("accuracy   {:.4f} -> {:.4f}\n", *measure.accuracy_before, measure.accuracy_after.value());
  if (measure.agreement)
    text += fmt::format("agreement  {:.4f} of the dense model's predictions\n", *measure.agreement);
  return text + fmt::format("distance   {:.4f} of the dense model's outputs\n", measure.distance);
}

Json trials_json(const std::vector<PruneTrial>& trials) {
  Json all = Json::array();
  for (const PruneTrial& trial : trials)
    all.push_back({{"share", trial.share}, {"loss", trial.loss}, {"predicted", trial.seconds}});
  return all;
}

Json both(const Json& before, const Json& after) { return {{"before", before}, {"after", after}}; }

/// Nulls if nothing was timed.
Json measured_json(double before, double after, bool timed) {
  return timed ? both(before, after) : both(nullptr, nullptr);
}

Json layer_json(const PrunedLayer& layer, bool timed) {
  return {{"node", layer.node + 1},
          {"name", layer.name},
          {"operation", layer.operation},
          {"pruned", !layer.left},
          {"weights", layer.weights},
          {"nonzeros", both(layer.nonzeros_before, layer.nonzeros_after)},
          {"predicted_seconds", both(layer.seconds_before, layer.seconds_after)},
          {"measured_seconds", measured_json(layer.measured_before, layer.measured_after, timed)},
          {"output_error", both(json_or_null(layer.error_before), json_or_null(layer.error_after))},
          {"trials", trials_json(layer.trials)}};
}

Json measure_json(const PruneMeasure& measure) {
  return {{"first", measure.first + 1},
          {"images", measure.images},
          {"accuracy", both(json_or_null(measure.accuracy_before), json_or_null(measure.accuracy_after))},
          {"agreement", json_or_null(measure.agreement)},
          {"distance", measure.distance}};
}

}  // namespace

std::string times_as_fast(const char* separator, double before, double after) {
  return after > 0 ? fmt::format("{}{} times as fast", separator, significant(before / after, 3)) : "";
}

PrunedLayer total_of(const PruneReport& report) {
  PrunedLayer sum{.seconds_before = report.seconds_before,
                  .seconds_after = report.seconds_after,
                  .measured_before = report.measured_before,
                  .measured_after = report.measured_after};
  for (const PrunedLayer& layer : report.layers) {
    sum.weights += layer.weights;
    sum.nonzeros_before += layer.nonzeros_before;
    sum.nonzeros_after += layer.nonzeros_after;
  }
  return sum;
}

std::string to_text(const PruneReport& report) {
  std::string text = fmt::format("model      {}\npruned     {}\nmethod     {}\n", escaped(report.model),
                                 escaped(report.out), report.method);
  if (report.calibrated > 0) text += fmt::format("calibrated with {}\n", counted(report.calibrated, "image", "images"));
  text += "\n" + fmt::format(fmt::runtime(kLayerRow), "node", "operation", "weights", "zeros %", "after",
                             "predicted us", "after", "measured us", "after", "error", "after", "name");
  for (const PrunedLayer& layer : report.layers)
    text += layer_row(std::to_string(layer.node + 1), layer.operation, layer, report.timed_runs > 0,
                      escaped(layer.name) + (layer.left ? " (left as it is)" : ""));
  text += layer_row("total", "", total_of(report), report.timed_runs > 0, "and all other nodes") + "\n";
  text += fmt::format("predicted  {} -> {} for {}, {} threads{}\n", seconds_text(report.seconds_before),
                      seconds_text(report.seconds_after), counted(report.batch, "image", "images"), report.threads,
                      times_as_fast(": ", report.seconds_before, report.seconds_after));
  if (report.timed_runs > 0)
    text += fmt::format("timed      {} -> {}{}; the shortest of {} for each node\n",
                        seconds_text(report.measured_before), seconds_text(report.measured_after),
                        times_as_fast(": ", report.measured_before, report.measured_after),
                        counted(report.timed_runs, "run", "runs"));
  if (report.measure) text += measure_text(*report.measure);
  for (const std::string& note : report.notes) text += "note       " + escaped(note) + "\n";
  return text;
}

std::string to_json(const PruneReport& report) {
  Json layers = Json::array();
  for (const PrunedLayer& layer : report.layers) layers.push_back(layer_json(layer, report.timed_runs > 0));
  const PrunedLayer sum = total_of(report);
  return json_line(
      {{"schema", "spdnn-prune-1"},
       {"model", report.model},
       {"out", report.out},
       {"method", report.method},
       {"calibrated", report.calibrated},
       {"batch", report.batch},
       {"threads", report.threads},
       {"weights", sum.weights},
       {"nonzeros", both(sum.nonzeros_before, sum.nonzeros_after)},
       {"predicted_seconds", both(report.seconds_before, report.seconds_after)},
       {"timed_runs", report.timed_runs},
       {"measured_seconds", measured_json(report.measured_before, report.measured_after, report.timed_runs > 0)},
       {"measured", report.measure ? measure_json(*report.measure) : Json()},
       {"layers", layers},
       {"notes", report.notes}});
}

}  // namespace spdnn
