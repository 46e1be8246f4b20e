#include "bench/layers_run.hpp"

#include <fmt/format.h>

#include <map>
#include <new>

#include "core/text/json_text.hpp"
#include "core/threads/parallel.hpp"
#include "engines/choose.hpp"
#include "engines/devices.hpp"
#include "inference/device/machine.hpp"
#include "io/files/output_target.hpp"
#include "report/phases.hpp"
#include "spdnn/error.hpp"
#include "spdnn/files.hpp"

namespace spdnn::bench {

namespace {

std::string timing_line(const Candidate& candidate, const LayerBench& bench, const LayerTiming& timing,
                        double ceiling) {
  const double median = timing.seconds.median;
  Json machine = machine_json(this_machine(candidate.variant->device));
  machine["threads"] = host_threads();
  const Json json = {
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

class LayersRun {
 public:
  LayersRun(std::optional<std::string> json, const Print& print) : path_(std::move(json)), print_(print) {
    print_(fmt::format("{:<28} {:>7} {:>6} {:>7} {:>12} {:>10} {:>9} {:>8} {:>6}\n", "variant", "neurons", "degree",
                       "images", "ms/layer", "Tedges/s", "MB", "ceiling", "trials"));
  }

  void measure(const LayerBench& bench, const std::vector<Candidate>& candidates) {
    std::optional<LayerProblem> problem;
    Fastest full;
    Fastest reduced;
    for (const Candidate& candidate : candidates) {
      const double ceiling = ceiling_of(candidate.variant->device);
      print_(fmt::format("{:<28} {:>7} {:>6} ", candidate.name(), bench.neurons, bench.degree));
      const std::optional<LayerTiming> timing = attempt(candidate, bench, problem);
      if (!timing) continue;
      print(*timing, ceiling);
      keep(timing_line(candidate, bench, *timing, ceiling));
      (below_fp32(candidate.precision) ? reduced : full).offer(candidate, *timing);
    }
    if (candidates.size() > 1 && full.candidate) print_fastest(full, reduced, candidates, *problem);
  }

  void finish() const {
    for (const auto& [device, ceiling] : ceilings_)
      print_(fmt::format("ceiling: a copy in the memory of the {} moves {:.1f} GB/s, read and written\n",
                         to_string(device), ceiling / 1e9));
    if (failed_ > 0) throw DeviceError(fmt::format("measurements that failed: {}; see the table for reasons", failed_));
  }

 private:
  /// The fastest candidate for a problem, by time per image.
  struct Fastest {
    std::optional<Candidate> candidate;
    double seconds = 0;
    Index images = 1;

    void offer(const Candidate& other, const LayerTiming& timing) {
      if (candidate && timing.seconds.median * images >= seconds * timing.images) return;
      candidate = other;
      seconds = timing.seconds.median;
      images = timing.images;
    }
  };

  /// Prints which candidate wins, whether `--variant auto` chooses it, and whether anything below fp32 is faster.
  void print_fastest(const Fastest& full, const Fastest& reduced, const std::vector<Candidate>& candidates,
                     const LayerProblem& problem) const {
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
    print_(text + "\n");
  }

  /// Empty if the candidate cannot be timed; the table then shows the reason. Creates the problem on first use.
  std::optional<LayerTiming> attempt(const Candidate& candidate, const LayerBench& bench,
                                     std::optional<LayerProblem>& problem) {
    EngineOptions options{.precision = candidate.precision};
    try {
      if (!problem) problem = make_problem(bench);
      return time_layers(*candidate.variant, bench, *problem, options);
    } catch (const UsageError& error) {
      print_(fmt::format("skipped: {}\n", error.what()));
      return std::nullopt;
    } catch (const DeviceError& error) {
      print_(fmt::format("failed: {}\n", error.what()));
    } catch (const std::bad_alloc&) {
      print_("failed: out of host memory\n");
    }
    ++failed_;
    return std::nullopt;
  }

  double ceiling_of(Device device) {
    if (!ceilings_.contains(device)) ceilings_[device] = copy_bytes_per_second(device, {});
    return ceilings_[device];
  }

  void print(const LayerTiming& timing, double ceiling) const {
    const double median = timing.seconds.median;
    print_(fmt::format("{:>7} {:>12.4f} {:>10.4f} {:>9.1f} {:>7.1f}% {:>6}\n", timing.images, median * 1e3,
                       timing.edges / median / 1e12, static_cast<double>(timing.bytes) / 1e6,
                       100.0 * static_cast<double>(timing.bytes) / median / ceiling, timing.trials));
  }

  /// A file is rewritten with each line; stdout receives one line after another.
  void keep(const std::string& line) {
    json_ = path_ == "-" ? line : json_ + line;
    if (path_) write_text(output_path(*path_), json_);
  }

  std::optional<std::string> path_;
  const Print& print_;
  std::string json_;
  std::map<Device, double> ceilings_;
  int failed_ = 0;  ///< measurements
};

}  // namespace

std::string Candidate::name() const {
  return std::string(variant->name) + (precision == Precision::fp32 ? "" : fmt::format(" {}", to_string(precision)));
}

void run_layers(const std::vector<LayerBench>& problems, const std::vector<Candidate>& candidates,
                const std::optional<std::string>& json, const Print& print) {
  LayersRun run(json, print);
  for (const LayerBench& problem : problems) run.measure(problem, candidates);
  run.finish();
}

}  // namespace spdnn::bench
