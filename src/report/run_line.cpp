#include "report/run_line.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/threads/parallel.hpp"
#include "report/checks.hpp"
#include "report/conv_line.hpp"
#include "report/json_fields.hpp"
#include "report/line_parts.hpp"
#include "report/model_line.hpp"

namespace spdnn {

namespace {

void read_neurons(const JsonFields& line, RunLine& run) {
  constexpr std::size_t kShown = 6;
  const Json& neurons = line.at({"problem", "neurons"});
  if (!neurons.is_array()) {
    run.width = line.count({"problem", "neurons"});
    run.neurons = std::to_string(run.width);
    run.widths = {run.width};
    return;
  }
  std::vector<std::string> widths;
  widths.reserve(neurons.size());
  for (const Json& width : neurons) {
    if (!width.is_number_unsigned()) line.fail({"problem", "neurons"}, "expected whole numbers");
    widths.push_back(std::to_string(width.get<std::uint64_t>()));
    run.widths.push_back(width.get<std::uint64_t>());
  }
  if (widths.empty()) line.fail({"problem", "neurons"}, "expected at least one number");
  run.width = neurons.front().get<std::uint64_t>();
  if (widths.size() <= kShown)
    run.neurons = fmt::format("{}", fmt::join(widths, "-"));
  else
    run.neurons = fmt::format("{}-...-{}", widths.front(), widths.back());
}

/// Reads the phases. A phase of several parts, such as start, has a name for each part.
void read_phases(const JsonFields& line, RunLine& run) {
  const Json& seconds = line.at({"seconds"});
  if (!seconds.is_object()) line.fail({"seconds"}, "expected an object");
  for (const auto& [name, value] : seconds.items()) {
    if (name == "infer" || name == "total") continue;
    const std::string phase = JsonFields::printable(name);
    if (!value.is_object()) {
      run.phases.emplace_back(phase, line.number({"seconds", name.c_str()}));
      continue;
    }
    for (const auto& [part, part_seconds] : value.items())
      run.phases.emplace_back(phase + " " + JsonFields::printable(part),
                              line.number({"seconds", name.c_str(), part.c_str()}));
  }
  run.infer = line.spread({"seconds", "infer"});
  if (run.infer.min < 0) line.fail({"seconds", "infer"}, "expected no negative numbers");
  run.total = line.number({"seconds", "total"});
}

double phase_or_0(const JsonFields& line, const char* name) {
  return line.optional_number({"seconds", name}).value_or(0);
}

void read_rates(const JsonFields& line, RunLine& run) {
  check_rate(line, "rate", run.work(), run.infer.median);
  check_rate(line, "rate_end_to_end", run.work(), run.total - phase_or_0(line, "warm_up"));
  run.rate_end_to_end = line.number({"rate_end_to_end"});
  run.computed_edges = line.optional_number({"computed_edges"});
  if (run.computed_edges && line.optional_number({"rate_computed"}))
    check_rate(line, "rate_computed", *run.computed_edges, run.infer.median);
  run.rate_with_setup = line.optional_number({"rate_with_setup"});
  const double setup = phase_or_0(line, "plan") + phase_or_0(line, "share") + phase_or_0(line, "upload");
  if (run.rate_with_setup) check_rate(line, "rate_with_setup", run.work(), setup + run.infer.median);
}

/// Checks a list with one number per layer, possibly only for the first layers.
void check_length(const JsonFields& line, const char* name, const Json& list, const RunLine& run) {
  if (list.size() > run.layers)
    line.fail({name}, fmt::format("expected at most {} numbers, one per layer", run.layers));
}

void read_lists(const JsonFields& line, RunLine& run) {
  if (const Json* alive = line.find({"alive"}); alive != nullptr && alive->is_array()) {
    check_length(line, "alive", *alive, run);
    run.alive.reserve(alive->size());
    for (const Json& images : *alive) {
      if (!images.is_number_unsigned()) line.fail({"alive"}, "expected whole numbers");
      run.alive.push_back(images.get<std::uint64_t>());
      if (run.alive.back() > run.images) line.fail({"alive"}, fmt::format("expected at most {} images", run.images));
    }
  }
  if (const Json* active = line.find({"active"}); active != nullptr && active->is_array()) {
    check_length(line, "active", *active, run);
    for (const Json& images : *active) {
      if (!images.is_number_unsigned() && !images.is_null()) line.fail({"active"}, "expected whole numbers or null");
      run.active.push_back(images.is_null() ? std::nullopt : std::optional(images.get<std::uint64_t>()));
    }
  }
}

std::optional<LineDeviceState> device_state_of(const JsonFields& line) {
  const Json* state = line.find({"device_state"});
  if (state == nullptr || state->is_null()) return std::nullopt;
  return LineDeviceState{.sm_clock_mhz = line.optional_spread({"device_state", "sm_clock_mhz"}),
                         .memory_clock_mhz = line.optional_spread({"device_state", "memory_clock_mhz"}),
                         .temperature_c = line.optional_spread({"device_state", "temperature_c"}),
                         .power_w = line.optional_spread({"device_state", "power_w"}),
                         .joules_per_trial = line.optional_number({"device_state", "joules_per_trial"})};
}

void read_verdict(const JsonFields& line, RunLine& run) {
  run.status = status_of(line);
  run.against = line.text({"verdict", "against"});
  run.checks = checks_of(line);
  if (run.checks.empty() && run.status != "UNVERIFIED")
    line.fail({"verdict", "status"}, "expected UNVERIFIED, as nothing was checked");
  // If a second run that had to give the same categories differs, one of the two is wrong.
  if (line.find({"compared", "same_categories"}) != nullptr && !line.truth({"compared", "same_categories"}))
    run.status = "FAILED";
  run.categories = line.count({"verdict", "categories"});
  for (const char* const wrong : {"missing", "extra"}) {
    const Json* images = line.find({"verdict", wrong});
    if (images == nullptr || images->is_null()) continue;
    if (line.count({"verdict", wrong}) > 0 && run.status == "PASSED")
      line.fail({"verdict", wrong}, "expected 0 with status PASSED");
  }
}

RunLine run_of(const JsonFields& line) {
  RunLine run;
  read_neurons(line, run);
  run.layers = line.count({"problem", "layers"});
  run.bias = line.text({"problem", "bias"});
  const std::optional<double> cap = line.optional_number({"problem", "cap"});
  run.cap = cap ? fmt::format("{:g}", *cap) : "none";
  run.images = line.count({"problem", "images"});
  run.empty_images = line.count_or({"problem", "empty_images"}, 0);
  if (run.empty_images > run.images) line.fail({"problem", "empty_images"}, "expected no more than images");
  run.edges = line.count({"problem", "edges"});
  run.variant = line.text({"variant"});
  run.passes = line.text({"passes"});
  run.precision = line.text({"precision"});
  run.trials = line.positive({"trials"});
  run.parts = line.positive_or({"parts"}, 1);
  run.ranks = line.positive_or({"machine", "ranks"}, 1);
  run.batch = line.count({"batch"});
  const Json* streamed = line.find({"streamed"});
  run.streamed = streamed != nullptr && !streamed->is_null();
  if (line.find({"suite", "options"}) != nullptr)
    run.official_images = line.truth({"suite", "options", "official_images"});
  read_phases(line, run);
  read_rates(line, run);
  read_verdict(line, run);
  read_lists(line, run);
  run.scaling = line.optional_text({"scaling", "kind"});
  run.device_state = device_state_of(line);
  run.origin = origin_of(line);
  return run;
}

/// A number used as a divisor.
double above_zero(const JsonFields& line, JsonFields::Path path) {
  const double number = line.number(path);
  if (number <= 0) line.fail(path, "expected a number above 0");
  return number;
}

LayerLine layer_of(const JsonFields& line) {
  above_zero(line, {"seconds_per_layer", "min"});
  return {.variant = line.text({"variant"}),
          // Earlier versions timed only fp32 and did not name it.
          .precision = line.find({"precision"}) == nullptr ? "fp32" : line.text({"precision"}),
          .weights = line.text({"weights"}),
          .neurons = line.count({"neurons"}),
          .degree = line.count({"degree"}),
          .layers = line.count({"layers"}),
          .images = line.count({"images"}),
          .trials = line.positive({"trials"}),
          .seconds = line.spread({"seconds_per_layer"}),
          .edges_per_second = above_zero(line, {"edges_per_second"}),
          .bytes = above_zero(line, {"bytes"}),
          .ceiling = above_zero(line, {"ceiling_bytes_per_second"}),
          .origin = origin_of(line)};
}

/// Threads take turns to read this number of lines each.
constexpr std::size_t kLinesOfAPiece = 64;

void read_line(const JsonFields& line, ResultLines& lines) {
  const std::string schema = line.text({"schema"});
  if (schema == "spdnn-run-1")
    lines.runs.push_back(run_of(line));
  else if (schema == "spdnn-layers-1")
    lines.layers.push_back(layer_of(line));
  else if (schema == "spdnn-model-1")
    lines.models.push_back(model_of(line));
  else if (schema == "spdnn-model-bench-1")
    lines.model_benches.push_back(model_bench_of(line));
  else if (schema == "spdnn-conv-bench-1")
    lines.convolutions.push_back(conv_of(line));
  else
    line.fail({"schema"},
              "expected spdnn-run-1, spdnn-layers-1, spdnn-model-1, spdnn-model-bench-1 or spdnn-conv-bench-1");
}

template <typename Line>
void append_lines(std::vector<Line>& all, std::vector<Line> more) {
  std::ranges::move(more, std::back_inserter(all));
}

}  // namespace

void ResultLines::add(ResultLines more) {
  append_lines(runs, std::move(more.runs));
  append_lines(layers, std::move(more.layers));
  append_lines(models, std::move(more.models));
  append_lines(model_benches, std::move(more.model_benches));
  append_lines(convolutions, std::move(more.convolutions));
}

bool LineOrigin::same_machine(const LineOrigin& other) const {
  return host == other.host && cpu == other.cpu && device == other.device && driver == other.driver &&
         cuda == other.cuda && threads == other.threads;
}

bool LineOrigin::same_build(const LineOrigin& other) const {
  return version == other.version && commit == other.commit && dirty == other.dirty;
}

void read_result_lines(const std::string& name, std::string_view text, ResultLines& lines) {
  std::vector<std::string_view> texts;
  for (; !text.empty(); text.remove_prefix(std::min(texts.back().size() + 1, text.size())))
    texts.push_back(text.substr(0, text.find('\n')));
  std::vector<ResultLines> pieces((texts.size() + kLinesOfAPiece - 1) / kLinesOfAPiece);
  parallel_for(pieces.size(), [&](std::size_t piece) {
    const std::size_t begin = piece * kLinesOfAPiece;
    for (std::size_t i = begin; i < std::min(begin + kLinesOfAPiece, texts.size()); ++i)
      read_line({fmt::format("{}:{}", name, i + 1), texts[i]}, pieces[piece]);
  });
  for (ResultLines& piece : pieces) lines.add(std::move(piece));
}

}  // namespace spdnn
