#include "bench/model_bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <numeric>
#include <thread>

#include "data/model_families.hpp"
#include "inference/device/machine.hpp"
#include "spdnn/error.hpp"
#include "spdnn/model_inference.hpp"

namespace spdnn::bench {

namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

/// 0 if the system does not say.
double machine_load() {
  double one_minute = 0;
  std::ifstream("/proc/loadavg") >> one_minute;
  return one_minute / std::max(1U, std::thread::hardware_concurrency());
}

Shape input_shape(const Model& model, Index batch) {
  const Value& input = model.values[model.inputs.front()];
  const bool open = !input.shape.empty() && input.shape[0] == kBatchExtent;
  if (!open && !input.shape.empty() && input.shape[0] != Extent{batch})
    throw UsageError(fmt::format("--batch: {}, but the model takes {} images", batch, input.shape[0]));
  return with_batch(input.shape, batch);
}

/// The time of each node, in runs of their own.
std::vector<NodeSeconds> layer_times(const Model& model, const ModelBench& bench, const EngineSettings& settings,
                                     const Tensor& images, double seconds_of_run) {
  ModelSpec spec;
  static_cast<EngineSettings&>(spec) = settings;
  spec.path = bench.path;
  spec.rewrites = bench.rewrites;
  spec.profile = true;
  spec.warm_up = 1;
  constexpr double kMostRuns = 100;
  const double runs = bench.runs ? *bench.runs : std::floor(bench.seconds / std::max(seconds_of_run, 1e-9));
  spec.trials = static_cast<int>(std::clamp(runs, 1.0, kMostRuns));
  ModelInference inference(spec);
  inference.load(model, images);
  inference.plan();
  inference.run();
  return inference.report().profile;
}

double sum_of(const std::vector<NodeSeconds>& layers) {
  return std::accumulate(layers.begin(), layers.end(), 0.0,
                         [](double sum, const NodeSeconds& node) { return sum + node.seconds; });
}

std::string name_of(const ModelTiming& timing) {
  return fmt::format("batch {}, {} threads", timing.batch, timing.threads);
}

}  // namespace

double ModelTiming::quantile(double share) const {
  const auto count = static_cast<double>(seconds.size());
  const auto at = static_cast<std::size_t>(std::max(std::ceil(share * count) - 1, 0.0));
  return seconds[at];
}

ModelTiming time_model(const Model& model, const ModelBench& bench, Index batch, int threads) {
  const Tensor images = generate_tensor(input_shape(model, batch), 1);
  EngineSettings settings = bench.settings;
  settings.batch = batch;
  settings.threads = threads;
  const ModelSession session(model, settings, bench.rewrites);
  ModelTiming timing{session.variant(), session.precision(), batch, session.threads(), {}, {}, machine_load()};
  const auto run = [&] {
    const Clock::time_point begin = Clock::now();
    session.run(images);
    return since(begin);
  };
  const Clock::time_point warm = Clock::now();
  do run();
  while (since(warm) < bench.warm_up);
  const Clock::time_point begin = Clock::now();
  do timing.seconds.push_back(run());
  while (bench.runs ? timing.seconds.size() < *bench.runs : since(begin) < bench.seconds);
  std::sort(timing.seconds.begin(), timing.seconds.end());
  if (bench.layers) timing.layers = layer_times(model, bench, settings, images, timing.quantile(0.5));
  return timing;
}

std::string timing_titles() {
  return fmt::format("{:<16} {:>6} {:>8} {:>7} {:>10} {:>10} {:>10} {:>12} {:>6}\n", "variant", "batch", "threads",
                     "runs", "p50 ms", "p90 ms", "p99 ms", "images/s", "load");
}

std::string timing_text(const ModelTiming& timing) {
  return fmt::format("{:<16} {:>6} {:>8} {:>7} {:>10.3f} {:>10.3f} {:>10.3f} {:>12.1f} {:>6.2f}\n", timing.variant,
                     timing.batch, timing.threads, timing.seconds.size(), timing.quantile(0.5) * 1e3,
                     timing.quantile(0.9) * 1e3, timing.quantile(0.99) * 1e3, timing.images_per_second(), timing.load);
}

std::string layers_text(const ModelTiming& timing) {
  if (timing.layers.empty()) return {};
  const double sum = sum_of(timing.layers);
  std::string text = fmt::format("  {:>10} {:>7}  {:<16} {}\n", "ms", "share", "operation", "node");
  for (const NodeSeconds& node : timing.layers)
    text += fmt::format("  {:>10.4f} {:>6.1f}%  {:<16} {}\n", node.seconds * 1e3,
                        sum > 0 ? 100 * node.seconds / sum : 0, node.operation, node.name);
  return text;
}

nlohmann::ordered_json timing_json(const ModelBench& bench, const ModelTiming& timing) {
  nlohmann::ordered_json layers = nullptr;
  for (const NodeSeconds& node : timing.layers)
    layers.push_back({{"name", node.name}, {"operation", node.operation}, {"seconds", node.seconds}});
  nlohmann::ordered_json machine = machine_json(this_machine(Device::cpu));
  machine["threads"] = timing.threads;
  machine["load"] = timing.load;
  return {{"schema", "spdnn-model-bench-1"},
          {"model", bench.path},
          {"variant", timing.variant},
          {"precision", to_string(timing.precision)},
          {"batch", timing.batch},
          {"runs", timing.seconds.size()},
          {"seconds",
           {{"min", timing.seconds.front()},
            {"p50", timing.quantile(0.5)},
            {"p90", timing.quantile(0.9)},
            {"p99", timing.quantile(0.99)},
            {"max", timing.seconds.back()}}},
          {"images_per_second", timing.images_per_second()},
          {"layers", std::move(layers)},
          {"machine", machine},
          {"build", build_json()}};
}

Document timing_document(const ModelBench& bench, const std::vector<ModelTiming>& timings) {
  const auto number = [](double value) { return Cell(fmt::format("{:.3f}", value), value); };
  Document document{
      "Times of " + bench.path, "Random images of the model's shape, from images in memory to outputs in memory.", {}};
  Table table{"times",
              "The times that half, 90 % and 99 % of the runs did not exceed.",
              {{"variant"},
               {"batch", "", true},
               {"threads", "", true},
               {"runs", "", true},
               {"p50", "ms", true},
               {"p90", "ms", true},
               {"p99", "ms", true},
               {"rate", "images/s", true},
               {"load", "", true, "Runnable threads of the machine per processor, before the runs"}},
              {}};
  for (const ModelTiming& timing : timings)
    table.rows.push_back(
        {{timing.variant, Cell(std::to_string(timing.batch), timing.batch),
          Cell(std::to_string(timing.threads), timing.threads), Cell(std::to_string(timing.seconds.size())),
          number(timing.quantile(0.5) * 1e3), number(timing.quantile(0.9) * 1e3), number(timing.quantile(0.99) * 1e3),
          number(timing.images_per_second()), number(timing.load)}});
  document.sections.push_back({"times", "Times", {std::move(table)}});
  Section layers{"layers", "Time by node", {}};
  for (const ModelTiming& timing : timings) {
    if (timing.layers.empty()) continue;
    Chart chart{
        .id = fmt::format("layers-{}", layers.blocks.size() + 1),
        .title = name_of(timing),
        .description = "Time of each node of the model that ran, after the rewrites, for all images of a batch.",
        .kind = Chart::Kind::bars,
        .x = {"ms"},
        .series = {{"time"}}};
    for (const NodeSeconds& node : timing.layers) {
      chart.series[0].points.push_back({static_cast<double>(chart.categories.size()), node.seconds * 1e3});
      chart.categories.push_back(fmt::format("{} ({})", node.name, node.operation));
    }
    layers.blocks.emplace_back(std::move(chart));
  }
  if (!layers.blocks.empty()) document.sections.push_back(std::move(layers));
  return document;
}

}  // namespace spdnn::bench
