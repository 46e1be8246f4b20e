#include "bench/conv_bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "data/pruned_matrix.hpp"
#include "engines/kernel_families.hpp"
#include "inference/device/machine.hpp"
#include "program/compile.hpp"
#include "program/request.hpp"
#include "program/threads.hpp"
#include "program/trial.hpp"
#include "report/phases.hpp"

namespace spdnn::bench {

namespace {

using Clock = std::chrono::steady_clock;

/// The family that ours are compared with.
constexpr std::string_view kPeer = "onednn";

/// The layer alone, with a bias.
Model model_of(const ConvCase& one) {
  const ConvLayer& layer = one.layer;
  const auto [rows, columns] = layer.window.kernel;
  Convolution convolution{
      .weights = make_pruned_matrix({.rows = layer.filters,
                                     .cols = narrow<Index>(layer.channels / layer.groups) * rows * columns,
                                     .sparsity = layer.pruned() ? one.sparsity : 0}),
      .bias = std::vector<float>(layer.filters, 0.1F),
      .groups = layer.groups,
      .window = layer.window};
  const Shape input{kBatchExtent, layer.channels, layer.height, layer.width};
  Model model;
  model.name = layer.name();
  model.values = {{"input", input, std::nullopt}, {"output", output_shape(convolution, {input}), std::nullopt}};
  model.nodes.push_back({"layer", std::move(convolution), {0}, 1});
  model.inputs = {0};
  model.outputs = {1};
  return model;
}

/// The offer of the kernels that is predicted to be the fastest; empty if there is none.
struct Best {
  std::string kernel;
  program::Offer offer;
};
std::optional<Best> best_offer(const program::Kernels& kernels, const program::Request& request) {
  std::optional<Best> best;
  for (const program::Kernel* const kernel : kernels)
    for (program::Offer& offer : kernel->offers(request))
      if (offer.takes() && (!best || offer.seconds < best->offer.seconds))
        best = Best{std::string(kernel->name()), std::move(offer)};
  return best;
}

program::Kernels kernels_for(bool peer, Precision precision) {
  program::Kernels all;
  for (const program::Family& family : kernel_families()) {
    if (family.device != Device::cpu || (family.name == kPeer) != peer) continue;
    const program::Kernels kernels = family.kernels(precision).kernels;
    all.insert(all.end(), kernels.begin(), kernels.end());
  }
  return all;
}

Side trial_side(program::Trial& trial) {
  return [&trial](Index runs) {
    std::vector<double> seconds(runs);
    for (double& one : seconds) {
      const Clock::time_point begin = Clock::now();
      trial.run();
      one = std::chrono::duration<double>(Clock::now() - begin).count();
    }
    return seconds;
  };
}

/// Requests for one layer, and the trials on them.
class Bench {
 public:
  Bench(const ConvCase& one, const RunLimits& limits)
      : one_(one), limits_(limits), threads_(one.threads), model_(model_of(one)) {}

  ConvTiming time() const {
    const program::Request request = request_in(program::ElementType::fp32);
    Best ours = best_offer(kernels_for(false, Precision::fp32), request).value();
    program::Trial trial(request, ours.offer);
    ConvTiming timing = work();
    timing.kernel = std::move(ours.kernel);
    timing.detail = std::move(ours.offer.detail);
    timing.predicted = ours.offer.seconds;
    timing.load = machine_load();
    for (const Precision precision : {Precision::fp32, Precision::bf16}) time_peer(precision, trial, timing);
    if (timing.with.empty()) timing.times = time_in_turns({trial_side(trial)}, limits_).sides[0];
    return timing;
  }

 private:
  program::Request request_in(program::ElementType type) const {
    const program::CompileOptions options{.type = type, .kernels_for = one_.batch, .threads = one_.threads};
    program::LayoutsOfValues there;
    program::Request request = program::request_for(model_, {0, {}}, one_.batch, options, there);
    for (program::Input& input : request.inputs) input.layouts = {{program::Order::rows, type}};
    return request;
  }

  ConvTiming work() const {
    const auto& convolution = std::get<Convolution>(model_.nodes.front().operation);
    const auto number = [&](ValueId value) {
      return static_cast<double>(*elements(with_batch(model_.values[value].shape, one_.batch)));
    };
    const CsrMatrix& weights = convolution.weights;
    const double results = number(model_.outputs.front());
    const auto entries = static_cast<double>(weights.entries());
    const double all = static_cast<double>(weights.rows) * weights.cols;
    constexpr double kEntryBytes = 8;  // with its place
    ConvTiming timing;
    timing.multiply_adds = results * weights.cols;
    timing.kept = entries / all;
    timing.bytes = sizeof(float) * (number(model_.inputs.front()) + results) + std::min(kEntryBytes * entries, 4 * all);
    return timing;
  }

  void time_peer(Precision precision, program::Trial& ours, ConvTiming& timing) const {
    const program::Request request =
        request_in(precision == Precision::bf16 ? program::ElementType::bf16 : program::ElementType::fp32);
    std::optional<Best> best = best_offer(kernels_for(true, precision), request);
    if (!best) return;
    program::Trial trial(request, best->offer);
    InTurns found = time_in_turns({trial_side(ours), trial_side(trial)}, limits_);
    if (timing.with.empty()) timing.times = std::move(found.sides[0]);
    timing.with.push_back({precision, std::move(best->kernel), std::move(best->offer.detail), best->offer.seconds,
                           std::move(found.sides[1]), found.ratio.value()});
  }

  const ConvCase& one_;
  const RunLimits& limits_;
  program::Threads threads_;
  Model model_;
};

/// Billions of multiply-adds that count per second.
double gflops(const ConvTiming& timing) { return timing.multiply_adds * timing.kept / timing.times.median() / 1e9; }

}  // namespace

ConvTiming time_conv(const ConvCase& one, const RunLimits& limits) { return Bench(one, limits).time(); }

std::string conv_titles() {
  return fmt::format("{:<34} {:>6} {:>6} {:>7} {:<12} {:>10} {:>8} {:>10} {:>7} {:>10} {:>7} {:>6}\n", "layer", "zeros",
                     "batch", "threads", "kernel", "p50 ms", "GFMA/s", "fp32 ms", "times", "bf16 ms", "times", "load");
}

std::string conv_text(const ConvCase& one, const ConvTiming& timing) {
  std::string text =
      fmt::format("{:<34} {:>5.1f}% {:>6} {:>7} {:<12} {:>10.4f} {:>8.2f}", one.layer.name(), 100 * (1 - timing.kept),
                  one.batch, one.threads, timing.kernel, timing.times.median() * 1e3, gflops(timing));
  for (const Precision precision : {Precision::fp32, Precision::bf16}) {
    const auto with = std::find_if(timing.with.begin(), timing.with.end(),
                                   [&](const ConvPeer& peer) { return peer.precision == precision; });
    text += with == timing.with.end()
                ? fmt::format(" {:>10} {:>7}", "-", "-")
                : fmt::format(" {:>10.4f} {:>7.2f}", with->times.median() * 1e3, 1 / with->ratio.median);
  }
  return text + fmt::format(" {:>6.2f}\n", timing.load);
}

nlohmann::ordered_json conv_json(const ConvCase& one, const ConvTiming& timing) {
  const ConvLayer& layer = one.layer;
  nlohmann::ordered_json line{{"schema", "spdnn-conv-bench-1"},
                              {"table", one.table},
                              {"layer", layer.name()},
                              {"batch", one.batch},
                              {"sparsity", layer.pruned() ? one.sparsity : 0},
                              {"kept", timing.kept},
                              {"multiply_adds", timing.multiply_adds},
                              {"bytes", timing.bytes},
                              {"kernel", timing.kernel},
                              {"detail", timing.detail},
                              {"predicted_seconds", timing.predicted}};
  line.update(timing.times.json(one.batch));
  line["load"] = timing.load;
  line["with"] = {{"fp32", nullptr}, {"bf16", nullptr}};
  for (const ConvPeer& peer : timing.with) {
    nlohmann::ordered_json with{
        {"kernel", peer.kernel}, {"detail", peer.detail}, {"predicted_seconds", peer.predicted}};
    with.update(peer.times.json(one.batch));
    with["ratio"] = {{"min", peer.ratio.min}, {"median", peer.ratio.median}, {"max", peer.ratio.max}};
    line["with"][std::string(to_string(peer.precision))] = std::move(with);
  }
  line["machine"] = machine_json(this_machine(Device::cpu));
  line["machine"]["threads"] = one.threads;
  line["build"] = build_json();
  return line;
}

}  // namespace spdnn::bench
