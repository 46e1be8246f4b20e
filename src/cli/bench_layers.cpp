#include <fmt/format.h>

#include <cstdio>
#include <map>
#include <new>

#include "bench/layer_bench.hpp"
#include "cli/bench.hpp"
#include "cli/options.hpp"
#include "cli/result_files.hpp"
#include "core/text/comma_list.hpp"
#include "core/threads/parallel.hpp"
#include "engines/choose.hpp"
#include "engines/devices.hpp"
#include "engines/reference/engine.hpp"
#include "inference/device/machine.hpp"
#include "io/networks/outputs.hpp"
#include "report/json_line.hpp"
#include "report/machine_json.hpp"
#include "report/phases.hpp"
#include "spdnn/error.hpp"
#include "spdnn/files.hpp"

namespace spdnn::cli {

namespace {

/// A variant in one of its precisions.
struct Candidate {
  const Variant* variant;
  Precision precision;

  std::string name() const {
    return std::string(variant->name) + (precision == Precision::fp32 ? "" : fmt::format(" {}", to_string(precision)));
  }
};

/// Each variant in its default precision and in its precisions below fp32.
std::vector<Candidate> chosen_candidates(const std::string& text) {
  std::vector<const Variant*> chosen;
  if (text == "all") {
    for (const Variant& variant : spdnn::variants())
      if (&variant != &oracle() && why_unusable(variant.device).empty()) chosen.push_back(&variant);
  } else {
    for (const std::string_view name : split_at_commas(text)) chosen.push_back(&find_variant(name));
  }
  std::vector<Candidate> candidates;
  for (const Variant* variant : chosen)
    for (const Precision precision : variant->precisions)
      if (precision == variant->precisions.front() || below_fp32(precision)) candidates.push_back({variant, precision});
  return candidates;
}

std::vector<bench::LayerBench> benches(const po::variables_map& values) {
  const auto text = [&](const char* name) { return values[name].as<std::string>(); };
  bench::LayerBench one;
  one.layers = parse_count("layers", text("layers"));
  one.images = parse_count("images", text("images"));
  one.trials = static_cast<int>(parse_count("trials", text("trials")));
  one.seconds = parse_real("seconds", text("seconds"));
  if (one.seconds < 0) throw UsageError(fmt::format("--seconds: {} is negative", text("seconds")));
  if (text("weights") != "constant" && text("weights") != "distinct")
    throw UsageError(fmt::format("--weights: '{}' is neither constant nor distinct", text("weights")));
  one.distinct = text("weights") == "distinct";
  std::vector<bench::LayerBench> all;
  for (const Index neurons : parse_counts("neurons", text("neurons")))
    for (const Index degree : parse_counts("degrees", text("degrees")))
      for (const std::string_view share : split_at_commas(values["alive"].as<std::string>())) {
        one.neurons = neurons;
        one.degree = degree;
        one.alive = parse_real("alive", std::string(share));
        if (degree > neurons) throw UsageError(fmt::format("--degrees: {} is more than {} neurons", degree, neurons));
        if (one.alive <= 0.0 || one.alive > 1.0) throw UsageError(fmt::format("--alive: {} is outside (0, 1]", share));
        all.push_back(one);
      }
  return all;
}

std::string timing_line(const Candidate& candidate, const bench::LayerBench& bench, const bench::LayerTiming& timing,
                        double ceiling) {
  const double median = timing.seconds.median;
  nlohmann::ordered_json machine = machine_json(this_machine(candidate.variant->device));
  machine["threads"] = host_threads();
  const nlohmann::ordered_json json = {
      {"schema", "spdnn-layers-1"},
      {"variant", candidate.variant->name},
      {"precision", to_string(candidate.precision)},
      {"neurons", bench.neurons},
      {"degree", bench.degree},
      {"weights", bench.distinct ? "distinct" : "constant"},
      {"layers", bench.layers},
      {"images", timing.images},
      {"trials", timing.trials},
      {"seconds_per_layer", {{"min", timing.seconds.min}, {"median", median}, {"max", timing.seconds.max}}},
      {"edges_per_second", timing.edges / median},
      {"bytes", timing.bytes},
      {"ceiling_bytes_per_second", ceiling},
      {"share_of_ceiling", static_cast<double>(timing.bytes) / median / ceiling},
      {"machine", machine},
      {"build", build_json()}};
  return spdnn::json_line(json);
}

/// Prints a line per measurement and stores its JSON line, both immediately, because a run may be interrupted.
/// Unsupported cases are skipped, and a failure does not stop the remaining measurements.
class LayersRun {
 public:
  explicit LayersRun(std::optional<std::string> json_path) : json_path_(std::move(json_path)), table_(json_path_) {
    if (json_path_) check_outputs({{"--json", output_path(*json_path_)}}, {});
    table_.put(fmt::format("{:<28} {:>7} {:>6} {:>7} {:>12} {:>10} {:>9} {:>8} {:>6}\n", "variant", "neurons", "degree",
                           "images", "ms/layer", "Tedges/s", "MB", "ceiling", "trials"));
  }

  void measure(const bench::LayerBench& bench, const std::vector<Candidate>& candidates) {
    std::optional<bench::LayerProblem> problem;
    Fastest full;
    Fastest reduced;
    for (const Candidate& candidate : candidates) {
      const double ceiling = ceiling_of(candidate.variant->device);
      table_.put(fmt::format("{:<28} {:>7} {:>6} ", candidate.name(), bench.neurons, bench.degree));
      const std::optional<bench::LayerTiming> timing = attempt(candidate, bench, problem);
      if (!timing) continue;
      print(*timing, ceiling);
      keep(timing_line(candidate, bench, *timing, ceiling));
      (below_fp32(candidate.precision) ? reduced : full).offer(candidate, *timing);
    }
    if (candidates.size() > 1 && full.candidate) print_fastest(full, reduced, candidates, *problem);
  }

  void finish() const {
    for (const auto& [device, ceiling] : ceilings_)
      table_.put(fmt::format("ceiling: a copy in the memory of the {} moves {:.1f} GB/s, read and written\n",
                             to_string(device), ceiling / 1e9));
    if (failed_ > 0) throw DeviceError(fmt::format("measurements that failed: {}; see the table for reasons", failed_));
  }

 private:
  /// The fastest candidate for a problem, by time per image.
  struct Fastest {
    std::optional<Candidate> candidate;
    double seconds = 0;
    Index images = 1;

    void offer(const Candidate& other, const bench::LayerTiming& timing) {
      if (candidate && timing.seconds.median * images >= seconds * timing.images) return;
      candidate = other;
      seconds = timing.seconds.median;
      images = timing.images;
    }
  };

  /// Prints which candidate wins, whether `--variant auto` chooses it, and whether anything below fp32 is faster.
  void print_fastest(const Fastest& full, const Fastest& reduced, const std::vector<Candidate>& candidates,
                     const bench::LayerProblem& problem) const {
    std::vector<const Variant*> usable;
    for (const Candidate& candidate : candidates)
      if (usable.empty() || usable.back() != candidate.variant) usable.push_back(candidate.variant);
    const Variant* const choice = choose_variant(problem.plan, batch_info(problem.images), {}, usable).variant;
    std::string text = "fastest: " + full.candidate->name();
    text += choice == full.candidate->variant ? ", chosen by auto" : fmt::format("; auto chooses {}", choice->name);
    if (reduced.candidate) {
      const double ratio = full.seconds / full.images / (reduced.seconds / reduced.images);
      text += fmt::format("; below fp32: {}, {:.2f} times as fast", reduced.candidate->name(), ratio);
    }
    table_.put(text + "\n");
  }

  /// Empty if the candidate cannot be timed; the table then shows the reason. Creates the problem on first use.
  std::optional<bench::LayerTiming> attempt(const Candidate& candidate, const bench::LayerBench& bench,
                                            std::optional<bench::LayerProblem>& problem) {
    EngineOptions options;
    options.precision = candidate.precision;
    try {
      if (!problem) problem = bench::make_problem(bench);
      return bench::time_layers(*candidate.variant, bench, *problem, options);
    } catch (const UsageError& error) {
      table_.put(fmt::format("skipped: {}\n", error.what()));
      return std::nullopt;
    } catch (const DeviceError& error) {
      table_.put(fmt::format("failed: {}\n", error.what()));
    } catch (const std::bad_alloc&) {
      table_.put("failed: out of host memory\n");
    }
    ++failed_;
    return std::nullopt;
  }

  double ceiling_of(Device device) {
    if (!ceilings_.contains(device)) ceilings_[device] = copy_bytes_per_second(device, {});
    return ceilings_[device];
  }

  void print(const bench::LayerTiming& timing, double ceiling) const {
    const double median = timing.seconds.median;
    table_.put(fmt::format("{:>7} {:>12.4f} {:>10.4f} {:>9.1f} {:>7.1f}% {:>6}\n", timing.images, median * 1e3,
                           timing.edges / median / 1e12, static_cast<double>(timing.bytes) / 1e6,
                           100.0 * static_cast<double>(timing.bytes) / median / ceiling, timing.trials));
  }

  /// A file is rewritten with each line; stdout receives one line after another.
  void keep(const std::string& line) {
    json_ = json_path_ == "-" ? line : json_ + line;
    if (json_path_) write_text(output_path(*json_path_), json_);
  }

  std::optional<std::string> json_path_;
  Printed table_;
  std::string json_;
  std::map<Device, double> ceilings_;
  int failed_ = 0;  ///< measurements
};

}  // namespace

CommandForm bench_layers_form() {
  OptionGroup group;
  group.options.add_options()                                                                                        //
      ("neurons", takes("N", "1024,4096"), "widths, separated by commas")                                            //
      ("degrees", takes("D", "32"), "inputs of each neuron, separated by commas")                                    //
      ("alive", takes("SHARE", "1,0.1"), "shares of the images that enter the layers, separated by commas")          //
      ("weights", takes("constant|distinct", "constant"), "one value for all weights, or a different one for each")  //
      ("layers", takes("L", "8"), "layers timed together")                                                           //
      ("images", takes("N", "60000"), "images at a share of 1")                                                      //
      ("trials", takes("N", "5"), "measurements; the median is reported")                                            //
      ("seconds", takes("SECONDS", "2"), "start no trial of a measurement after this time")                          //
      ("variants", takes("ENGINES", "all"),                                                                          //
       "names separated by commas, or all that can run here except cpu_reference")                                   //
      ("json", takes("FILE"), "write one JSON line per measurement here (-: stdout)");
  return {.name = "bench layers",
          .summary =
              "Times each engine on single layers of several widths, and shows how close it comes to the speed of the "
              "memory. No preparation is needed.",
          .usage = "spdnn bench layers [OPTIONS]",
          .groups = {group},
          .examples = "  spdnn bench layers --neurons 4096 --variants cpu_openmp\n"};
}

int bench_layers(const Arguments& arguments) {
  po::variables_map values;
  if (!parse(arguments, bench_layers_form(), values)) return 0;
  const auto all = benches(values);
  const auto chosen = chosen_candidates(values["variants"].as<std::string>());
  LayersRun run(text_of(values, "json"));
  for (const bench::LayerBench& bench : all) run.measure(bench, chosen);
  run.finish();
  return 0;
}

}  // namespace spdnn::cli
