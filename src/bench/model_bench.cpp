#include "bench/model_bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <span>

#include "bench/onnxruntime.hpp"
#include "bench/run_folder.hpp"
#include "core/text/amounts.hpp"
#include "core/text/message.hpp"
#include "data/model_families.hpp"
#include "engines/devices.hpp"
#include "engines/model_engine.hpp"
#include "inference/device/machine.hpp"
#include "inference/model/comparer.hpp"
#include "inference/model/probabilities.hpp"
#include "io/arrays/npy.hpp"
#include "report/phases.hpp"
#include "spdnn/error.hpp"
#include "spdnn/files.hpp"
#include "spdnn/model_inference.hpp"

namespace spdnn::bench {

namespace {

Shape input_shape(const Model& model, Index batch) {
  const Value& input = model.values[model.inputs.front()];
  const bool open = !input.shape.empty() && input.shape[0] == kBatchExtent;
  if (!open && !input.shape.empty() && input.shape[0] != Extent{batch})
    throw UsageError(fmt::format("--batch: {}, but the model takes {} images", batch, input.shape[0]));
  return with_batch(input.shape, batch);
}

/// DeviceError if the images do not fit.
void require_memory(const Shape& shape, Index batch) {
  const std::size_t bytes = sizeof(float) * elements(shape).value();
  const std::size_t budget = memory_budget(Device::cpu, {});
  if (bytes > budget)
    throw DeviceError(fmt::format("{} take {}, but {} are available", counted(batch, "image", "images"),
                                  bytes_text(bytes), bytes_text(budget)));
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
  const RunLimits& limits = bench.limits;
  const double runs = limits.runs ? *limits.runs : std::floor(limits.seconds / std::max(seconds_of_run, 1e-9));
  spec.trials = static_cast<int>(std::clamp(runs, 1.0, kMostRuns));
  ModelInference inference(spec);
  inference.load(model, images);
  inference.plan();
  inference.run();
  return inference.report().profile;
}

double total_seconds(const std::vector<NodeSeconds>& layers) {
  return std::accumulate(layers.begin(), layers.end(), 0.0,
                         [](double sum, const NodeSeconds& node) { return sum + node.seconds; });
}

Side side_of(const ModelSession& session, const Tensor& images) {
  return [&](Index runs) {
    std::vector<double> seconds(runs);
    for (double& one : seconds) {
      const auto begin = std::chrono::steady_clock::now();
      session.run(images);
      one = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    }
    return seconds;
  };
}

/// Compares all outputs with the tolerances of the verdict, by their order, as formats may name them differently: the
/// one that is farthest from its tolerance.
OutputCheck compared(const Model& model, const std::vector<Tensor>& found, const std::vector<NamedTensor>& expected) {
  if (found.size() != expected.size())
    throw DataError(fmt::format("onnxruntime has {} outputs, expected {}", expected.size(), found.size()));
  OutputCheck worst;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const Tensor& theirs = expected[i].tensor;
    if (found[i].shape != theirs.shape)
      throw DataError(fmt::format("onnxruntime: the output '{}' is {}, expected {}", escaped(expected[i].name),
                                  shape_text(theirs.shape), shape_text(found[i].shape)));
    OutputComparer comparer(expected[i].name, probabilities_of(model, model.outputs[i]));
    const std::vector<double> numbers(theirs.values.begin(), theirs.values.end());
    const std::vector<double> unbounded(numbers.size(), INFINITY);
    const std::size_t each = numbers.size() / static_cast<std::size_t>(theirs.shape[0]);
    for (std::size_t at = 0; at < numbers.size(); at += each)
      comparer.add({found[i].values.span().subspan(at, each), std::span(numbers).subspan(at, each),
                    std::span(unbounded).subspan(at, each)});
    const OutputCheck check = comparer.take(1).first;
    if (i == 0 || check.largest_excess > worst.largest_excess) worst = check;
  }
  return worst;
}

/// The files that onnxruntime reads, and the process.
class Peer {
 public:
  Peer(const Model& model, const ModelBench& bench, const Tensor& images, int threads)
      : folder_(std::filesystem::temp_directory_path(), "bench"), runtime_(threads, folder_.messages()) {
    std::filesystem::path file = std::filesystem::absolute(bench.path);
    const bool written = file.extension() != ".onnx";
    if (written) write_model(file = folder_.file("model.onnx"), model);
    const std::filesystem::path input = folder_.file("input.npy");
    write_npy(input, images);
    runtime_.load(file, input);
    timing_.version = runtime_.version();
    timing_.host = runtime_.host();
    timing_.written = written;
  }
  Side side() {
    return [this](Index runs) { return runtime_.times(runs); };
  }
  PeerTiming timing(const ModelSession& session, const Tensor& images) {
    timing_.outputs = compared(session.model(), session.run(images).outputs, runtime_.outputs());
    return timing_;
  }

 private:
  RunFolder folder_;
  OnnxRuntime runtime_;
  PeerTiming timing_;
};

std::string table_line(const std::string& name, const ModelTiming& timing, const TimedRuns& times,
                       const std::string& load) {
  return fmt::format("{:<20} {:>6} {:>8} {:>7} {:>10.3f} {:>10.3f} {:>10.3f} {:>12.1f} {:>6}\n", name, timing.batch,
                     timing.threads, times.seconds.size(), times.median() * 1e3, times.quantile(0.9) * 1e3,
                     times.quantile(0.99) * 1e3, timing.batch / times.median(), load);
}

Json peer_json(const PeerTiming& with, Index batch) {
  Json json{{"name", "onnxruntime"},
            {"version", with.version},
            {"host", with.host},
            {"file", with.written ? "written" : "given"}};
  json.update(with.times.json(batch));
  json["turns"] = with.turns;
  json["ratio"] = {{"min", with.ratio.min}, {"median", with.ratio.median}, {"max", with.ratio.max}};
  json["outputs"] = {{"largest_difference",
                      std::isfinite(with.outputs.largest_deviation) ? Json(with.outputs.largest_deviation) : Json()},
                     {"largest_expected", with.outputs.largest_expected},
                     {"agree", with.agrees()}};
  return json;
}

}  // namespace

ModelTiming time_model(const Model& model, const ModelBench& bench, Index batch, int threads) {
  const Shape shape = input_shape(model, batch);
  EngineSettings settings = bench.settings;
  settings.batch = batch;
  settings.threads = threads;
  const ModelSession session(model, settings, bench.rewrites);  // which says how much memory the batch needs
  require_memory(shape, batch);
  const Tensor images = generate_tensor(shape, 1);
  ModelTiming timing{session.variant(), session.precision(), batch, session.threads(), session.computing_threads()};
  timing.load = machine_load();
  std::vector<Side> sides{side_of(session, images)};
  std::optional<Peer> peer;
  if (bench.with_onnxruntime) {
    peer.emplace(model, bench, images, session.threads());
    timing.with = peer->timing(session, images);
    sides.push_back(peer->side());
  }
  InTurns found = time_in_turns(sides, bench.limits);
  timing.times = std::move(found.sides[0]);
  if (peer) {
    timing.with->times = std::move(found.sides[1]);
    timing.with->turns = found.turns;
    timing.with->ratio = *found.ratio;
  }
  if (bench.layers) timing.layers = layer_times(model, bench, settings, images, timing.times.median());
  return timing;
}

std::string timing_titles() {
  return fmt::format("{:<20} {:>6} {:>8} {:>7} {:>10} {:>10} {:>10} {:>12} {:>6}\n", "variant", "batch", "threads",
                     "runs", "p50 ms", "p90 ms", "p99 ms", "images/s", "load");
}

std::string timing_text(const ModelTiming& timing) {
  std::string text = table_line(timing.variant, timing, timing.times, fmt::format("{:.2f}", timing.load));
  if (timing.computing_threads < timing.threads)
    text +=
        fmt::format("  computed by {} of {} threads, as nodes are small\n", timing.computing_threads, timing.threads);
  if (!timing.with) return text;
  const PeerTiming& with = *timing.with;
  text += table_line("onnxruntime " + with.version, timing, with.times, "");
  text += fmt::format(
      "  time of {} / onnxruntime: {:.3f} ({:.3f} to {:.3f} in {} turns); outputs {}: {:.3g} apart, up to {:.3g}\n",
      timing.variant, with.ratio.median, with.ratio.min, with.ratio.max, with.turns, with.agrees() ? "agree" : "DIFFER",
      with.outputs.largest_deviation, with.outputs.largest_expected);
  return text;
}

std::string layers_text(const ModelTiming& timing) {
  if (timing.layers.empty()) return {};
  const double sum = total_seconds(timing.layers);
  std::string text = fmt::format("  {:>10} {:>7}  {:<16} {}\n", "ms", "share", "operation", "node");
  for (const NodeSeconds& node : timing.layers)
    text += fmt::format("  {:>10.4f} {:>6.1f}%  {:<16} {}\n", node.seconds * 1e3,
                        sum > 0 ? 100 * node.seconds / sum : 0, node.operation, node.name);
  return text;
}

Json timing_json(const ModelBench& bench, const ModelTiming& timing) {
  Json layers = nullptr;
  for (const NodeSeconds& node : timing.layers)
    layers.push_back({{"name", node.name}, {"operation", node.operation}, {"seconds", node.seconds}});
  Json machine = machine_json(this_machine(find_model_variant(timing.variant).device));
  machine["threads"] = timing.threads;
  Json json{{"schema", "spdnn-model-bench-1"},
            {"model", bench.path},
            {"variant", timing.variant},
            {"precision", to_string(timing.precision)},
            {"batch", timing.batch}};
  json.update(timing.times.json(timing.batch));
  json["load"] = timing.load;
  json["computing_threads"] = timing.computing_threads;
  json["layers"] = std::move(layers);
  json["with"] = timing.with ? peer_json(*timing.with, timing.batch) : Json();
  json["machine"] = std::move(machine);
  json["build"] = build_json();
  return json;
}

}  // namespace spdnn::bench
