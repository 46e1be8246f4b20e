#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "spdnn/report.hpp"

namespace spdnn {

/// The kind of machine and the build, as stated in a JSON line; empty if missing.
struct LineOrigin {
  std::string host, cpu, device, driver, cuda;
  std::uint64_t threads = 1;  ///< of all ranks together
  std::string version, commit;
  bool dirty = false;

  bool same_machine(const LineOrigin& other) const;
  bool same_build(const LineOrigin& other) const;
  bool is_known() const { return !dirty && commit != "unknown"; }  ///< the commit identifies the code
  auto operator<=>(const LineOrigin& other) const = default;  // NOLINT(modernize-use-nullptr): clang-tidy 14 sees a 0
};

/// Device samples taken while a run was timed, as far as available.
struct LineDeviceState {
  std::optional<Spread> sm_clock_mhz, memory_clock_mhz, temperature_c, power_w;
  std::optional<double> joules_per_trial;
};

/// The parts of a line of schema spdnn-run-1 used by reports. Texts have no control characters.
struct RunLine {
  std::string neurons;                ///< one width, or the widths joined by dashes
  std::uint64_t width = 0;            ///< of the first row of neurons
  std::vector<std::uint64_t> widths;  ///< inputs, then outputs of each layer; one number if all are equal
  std::uint64_t layers = 0, images = 0, empty_images = 0, edges = 0;
  std::string bias, cap;
  std::string variant, passes, precision;
  int trials = 1, parts = 1, ranks = 1;
  std::uint64_t batch = 0;              ///< images processed together on a rank's device
  bool streamed = false;                ///< layers were read during inference
  std::optional<bool> official_images;  ///< empty if not stated
  Spread infer;
  std::vector<std::pair<std::string, double>> phases;  ///< all but infer and total, in the line's order
  double total = 0;
  std::optional<double> computed_edges, rate_with_setup;
  double rate_end_to_end = 0;
  std::string status, against;
  std::vector<std::string> checks;  ///< the comparisons behind the verdict, sorted, whatever their results
  std::uint64_t categories = 0;
  std::vector<std::uint64_t> alive;
  std::vector<std::optional<std::uint64_t>> active;  ///< images still computed, by layer; empty if not stated
  std::string scaling;                               ///< strong or weak, for a line of bench scaling
  std::optional<LineDeviceState> device_state;
  LineOrigin origin;

  bool failed() const { return status == "FAILED"; }
  /// Images x edges counted by rates.
  double work() const { return static_cast<double>(images - empty_images) * static_cast<double>(edges); }
};

/// The parts of a line of schema spdnn-layers-1 used by reports.
struct LayerLine {
  std::string variant, precision, weights;
  std::uint64_t neurons = 0, degree = 0, layers = 0, images = 0;
  int trials = 1;
  Spread seconds;                                       ///< of one layer
  double edges_per_second = 0, bytes = 0, ceiling = 0;  ///< ceiling: bytes per second of a plain copy
  LineOrigin origin;
};

/// The time of a node in a trial, for all images together.
struct ProfiledNode {
  std::string name, operation;
  double seconds = 0;
};

/// The parts of a line of schema spdnn-model-1 used by reports.
struct ModelLine {
  std::string model, variant, precision, status;
  std::uint64_t images = 0, batch = 0, weights = 0, nonzeros = 0;
  Spread infer;
  double images_per_second = 0, dense = 0, sparse = 0;  ///< dense and sparse: operations per second
  std::optional<double> accuracy{};                     ///< 0 to 1
  std::optional<double> largest_ratio{};                ///< largest ratio of a deviation to its bound
  std::optional<std::uint64_t>
      sample{};  ///< number of compared images, if not all were compared: nothing is known about the rest
  std::vector<ProfiledNode> profile{};  ///< empty if profiling was off
  LineOrigin origin;
};

/// The times of one program on a model and a batch of images.
struct ModelTimes {
  std::uint64_t runs = 0;
  double p50 = 0, p90 = 0, p99 = 0;  ///< seconds that half, 90 % and 99 % of the runs did not exceed
  double images_per_second = 0;
};

/// Another program, timed in turns with ours.
struct TimedWith {
  std::string name;  ///< with its version
  ModelTimes times;
  Spread ratio;  ///< our time / its time, over the turns
  bool agree = true;
};

/// The parts of a line of schema spdnn-model-bench-1 used by reports.
struct ModelBenchLine {
  std::string model, variant, precision;
  std::uint64_t batch = 0;
  ModelTimes times{};
  double load = 0;                     ///< runnable threads of the machine per processor
  std::vector<ProfiledNode> layers{};  ///< empty if they were not timed
  std::optional<TimedWith> with{};
  LineOrigin origin;
};

/// A library's kernel on the same layer, timed in turns with ours.
struct ConvPeerLine {
  std::string kernel, with{};  ///< with: `oneDNN in fp32`
  double median = 0;           ///< seconds
  Spread ratio;                ///< our time / its time, over the turns
};

/// The times that a paper reports for the same layer.
struct ConvPublished {
  std::string source, device;
  std::vector<std::pair<std::string, double>> seconds;  ///< by kernel
};

/// The parts of a line of schema spdnn-conv-bench-1 used by reports.
struct ConvLine {
  std::string table, layer, variant, kernel;
  std::uint64_t batch = 0, runs = 0;
  double sparsity = 0, kept = 0;        ///< asked for; share of the weights that are not zero
  double input_sparsity = 0;            ///< asked for: of the input's numbers
  double multiply_adds = 0, bytes = 0;  ///< with all weights; least traffic
  double median = 0;                    ///< seconds
  double load = 0;                      ///< runnable threads of the machine per processor
  std::vector<ConvPeerLine> with{};
  std::optional<ConvPublished> published{};
  LineOrigin origin;
};

struct ResultLines {
  std::vector<RunLine> runs;
  std::vector<LayerLine> layers;
  std::vector<ModelLine> models{};
  std::vector<ModelBenchLine> model_benches{};
  std::vector<ConvLine> convolutions{};

  void add(ResultLines more);
  bool empty() const {
    return runs.empty() && layers.empty() && models.empty() && model_benches.empty() && convolutions.empty();
  }
};

/// Adds the JSON lines of a file, called `name` in messages. DataError (`name:line:column: ...`) if a line is not JSON,
/// has another schema, lacks a field or contradicts itself: a rate must be the quotient of the line's own numbers.
void read_result_lines(const std::string& name, std::string_view text, ResultLines& lines);

}  // namespace spdnn
