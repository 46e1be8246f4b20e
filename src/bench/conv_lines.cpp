// What `bench conv` prints and writes of a measurement.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "bench/conv_bench.hpp"
#include "bench/conv_check.hpp"
#include "bench/conv_published.hpp"
#include "inference/device/machine.hpp"
#include "report/phases.hpp"

namespace spdnn::bench {

namespace {

/// Billions of multiply-adds that count per second.
double gflops(const ConvTiming& timing) {
  return timing.multiply_adds * timing.kept / timing.ours.times.median() / 1e9;
}

Json timed_json(const TimedKernel& timed, Index batch) {
  Json json{{"kernel", timed.kernel}, {"detail", timed.detail}, {"predicted_seconds", timed.predicted}};
  json.update(timed.times.json(batch));
  json["deviation"] = {{"outputs", kSampledOutputs}, {"largest_ratio", nullptr}};
  if (std::isfinite(timed.deviation)) json["deviation"]["largest_ratio"] = timed.deviation;
  return json;
}

}  // namespace

void add_beyond_bounds(const ConvCase& one, const ConvTiming& timing, BeyondBounds& beyond) {
  const auto look = [&](const TimedKernel& timed, std::string_view number, const std::string& library) {
    if (timed.deviation <= 1) return;
    beyond.text += fmt::format("spdnn: {}: {}{} in {} deviates by {:.3g} times its bound\n", one.layer.name(), library,
                               timed.kernel, number, timed.deviation);
    beyond.ours = beyond.ours || library.empty();
  };
  look(timing.ours, timing.whole ? "int8" : "fp32", "");
  for (const ConvPeer& peer : timing.with)
    look(peer.timed, peer.rival->number(), peer.rival->ours ? "" : peer.rival->library + "'s ");
}

std::string conv_titles(Device device) {
  std::string titles = fmt::format("{:<34} {:>6} {:>6} {:>6} {:>7} {:<14} {:>10} {:>8}", "layer", "zeros", "input",
                                   "batch", "threads", "kernel", "p50 ms", "GFMA/s");
  for (const ConvRival& rival : conv_rivals(device)) titles += fmt::format(" {:>11} {:>7}", rival.key + " ms", "times");
  return titles + fmt::format(" {:>6}\n", "load");
}

std::string conv_text(const ConvCase& one, const ConvTiming& timing) {
  std::string text = fmt::format("{:<34} {:>5.1f}% {:>5.1f}% {:>6} {:>7} {:<14} {:>10.4f} {:>8.2f}", one.layer.name(),
                                 100 * (1 - timing.kept), 100 * one.input_sparsity, one.batch, one.threads,
                                 timing.ours.kernel, timing.ours.times.median() * 1e3, gflops(timing));
  for (const ConvRival& rival : conv_rivals(one.device)) {
    const auto with = std::find_if(timing.with.begin(), timing.with.end(),
                                   [&](const ConvPeer& peer) { return peer.rival == &rival; });
    text += with == timing.with.end()
                ? fmt::format(" {:>11} {:>7}", "-", "-")
                : fmt::format(" {:>11.4f} {:>7.2f}", with->timed.times.median() * 1e3, 1 / with->ratio.median);
  }
  return text + fmt::format(" {:>6.2f}\n", timing.load);
}

Json conv_json(const ConvCase& one, const ConvTiming& timing) {
  const ConvLayer& layer = one.layer;
  Json line{{"schema", "spdnn-conv-bench-1"},
            {"table", one.table},
            {"layer", layer.name()},
            {"batch", one.batch},
            {"sparsity", layer.pruned() ? one.sparsity : 0},
            {"kept", timing.kept},
            {"input_sparsity", one.input_sparsity},
            {"multiply_adds", timing.multiply_adds},
            {"bytes", timing.bytes},
            {"variant", timing.variant}};
  line.update(timed_json(timing.ours, one.batch));
  line["load"] = timing.load;
  for (const Device device : {Device::cpu, Device::cuda})
    for (const ConvRival& rival : conv_rivals(device)) line["with"][rival.key] = nullptr;
  for (const ConvPeer& peer : timing.with) {
    Json with{{"library", peer.rival->library}, {"precision", peer.rival->number()}};
    with.update(timed_json(peer.timed, one.batch));
    with["ratio"] = {{"min", peer.ratio.min}, {"median", peer.ratio.median}, {"max", peer.ratio.max}};
    line["with"][peer.rival->key] = std::move(with);
  }
  line["published"] = nullptr;
  if (const std::optional<PublishedTimes> known = published_times(one)) {
    line["published"] = {{"source", known->source}, {"device", known->device}};
    for (const auto& [kernel, seconds] : known->seconds) line["published"]["seconds"][std::string(kernel)] = seconds;
  }
  line["machine"] = machine_json(this_machine(one.device));
  line["machine"]["threads"] = one.threads;
  line["build"] = build_json();
  return line;
}

}  // namespace spdnn::bench
