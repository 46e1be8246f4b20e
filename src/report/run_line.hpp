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

/// The kind of machine, as far as a JSON line tells, and the build that it names, as text; empty where it says nothing.
struct LineOrigin {
  std::string host, cpu, device, driver, cuda;
  std::uint64_t threads = 1;  ///< of all ranks together
  std::string version, commit;
  bool dirty = false;

  bool same_machine(const LineOrigin& other) const;
  bool same_build(const LineOrigin& other) const;
  bool is_known() const { return !dirty && commit != "unknown"; }  ///< the commit alone says which code ran
  auto operator<=>(const LineOrigin& other) const = default;
};

/// Samples of the device while a run was timed, as far as it tells.
struct LineDeviceState {
  std::optional<Spread> sm_clock_mhz, memory_clock_mhz, temperature_c, power_w;
  std::optional<double> joules_per_trial;
};

/// What a report needs of a line of schema spdnn-run-1. Text holds no control characters.
struct RunLine {
  std::string neurons;                ///< one width, or the widths joined by dashes
  std::uint64_t width = 0;            ///< of the first row of neurons
  std::vector<std::uint64_t> widths;  ///< inputs, then outputs of each layer; one number where all are the same
  std::uint64_t layers = 0, images = 0, empty_images = 0, edges = 0;
  std::string bias, cap;
  std::string variant, passes, precision;
  int trials = 1, parts = 1, ranks = 1;
  std::uint64_t batch = 0;              ///< images on a rank's device at one time
  bool streamed = false;                ///< layers were read while the engine ran
  std::optional<bool> official_images;  ///< empty where the line does not say
  Spread infer;
  std::vector<std::pair<std::string, double>> phases;  ///< all but infer and total, in the order of the line
  double total = 0;
  std::optional<double> computed_edges, rate_with_setup;
  double rate_end_to_end = 0;
  std::string status, against;
  std::vector<std::string> checks;  ///< the comparisons that the verdict rests on, sorted, whatever came of each
  std::uint64_t categories = 0;
  std::vector<std::uint64_t> alive;
  std::vector<std::optional<std::uint64_t>>
      active;           ///< images still computed, by layer; empty where the line does not say
  std::string scaling;  ///< strong or weak, of a line of bench scaling
  std::optional<LineDeviceState> device_state;
  LineOrigin origin;

  bool failed() const { return status == "FAILED"; }
  /// Images x edges that rates count.
  double work() const { return static_cast<double>(images - empty_images) * static_cast<double>(edges); }
};

/// What a report needs of a line of schema spdnn-layers-1.
struct LayerLine {
  std::string variant, precision, weights;
  std::uint64_t neurons = 0, degree = 0, layers = 0, images = 0;
  int trials = 1;
  Spread seconds;                                       ///< of one layer
  double edges_per_second = 0, bytes = 0, ceiling = 0;  ///< ceiling: bytes per second of a plain copy
  LineOrigin origin;
};

/// What a node took in a trial, all images together.
struct ProfiledNode {
  std::string name, operation;
  double seconds = 0;
};

/// What a report needs of a line of schema spdnn-model-1.
struct ModelLine {
  std::string model, variant, precision, status;
  std::uint64_t images = 0, batch = 0, weights = 0, nonzeros = 0;
  Spread infer;
  double images_per_second = 0, dense = 0, sparse = 0;  ///< dense and sparse: operations per second
  std::optional<double> accuracy{};                     ///< 0 to 1
  std::optional<double> largest_ratio{};                ///< to the bound, of whatever the logits were compared with
  std::optional<std::uint64_t> sample{};  ///< images compared, where these are not all: the rest is unknown
  std::vector<ProfiledNode> profile{};    ///< empty where none was asked for
  LineOrigin origin;
};

struct ResultLines {
  std::vector<RunLine> runs;
  std::vector<LayerLine> layers;
  std::vector<ModelLine> models{};
};

/// Adds the JSON lines of a file, `name` in messages. DataError (`name:line:column: ...`) where a line is not JSON, has
/// another schema, lacks a field or contradicts itself: a rate is the quotient of the line's own numbers.
void read_result_lines(const std::string& name, std::string_view text, ResultLines& lines);

}  // namespace spdnn
