#include "spdnn/model_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/text/amounts.hpp"
#include "core/text/json_text.hpp"
#include "core/text/message.hpp"
#include "core/types/shape_json.hpp"
#include "core/types/share_of_zeros.hpp"
#include "report/answers.hpp"
#include "report/phases.hpp"

namespace spdnn {

namespace {

constexpr std::size_t kShownTies = 10;

std::string model_text(const ModelReport& r) {
  return fmt::format("{}: {}, {}, {:.2f} % of them zeros", escaped(r.model), counted(r.nodes, "node", "nodes"),
                     counted(r.weights, "weight", "weights"), 100 * share_of_zeros(r.weights, r.nonzeros));
}

std::string images_text(const ModelReport& r) {
  const std::string share = r.images < r.available ? fmt::format(" (the first of {})", r.available) : "";
  std::string outputs;
  for (const ModelOutput& output : r.outputs)
    outputs += (outputs.empty() ? "" : ", ") + (r.outputs.size() > 1 ? escaped(output.name) + " " : "") +
               shape_text(output.shape);
  return fmt::format("{}{}; {} to {}", r.images, share, shape_text(r.input), outputs);
}

/// Multiply-adds are counted for the model as given, so that engines and rewrites can be compared.
std::string operations_text(const ModelReport& r, double given, double run, const char* which) {
  const std::string left = run == given ? "" : fmt::format("; the rewrites left {:.6g}", run);
  return fmt::format("{:.4g} GFLOP/s  (2 x {:.6g} multiply-adds {} of the model as given x images / infer median{})",
                     r.operations_per_second(given) / 1e9, given, which, left);
}

std::string accuracy_text(const Accuracy& a) {
  const std::string among = a.classes > 1 ? fmt::format("; {:.2f} % in the top {}", 100 * a.top_k(), a.classes) : "";
  return fmt::format("{:.2f} % ({} of {}){}", 100 * a.top_1(), a.correct, a.images, among);
}

std::string output_check_text(const OutputCheck& check) {
  std::string text = fmt::format("largest deviation {:.3g} of the bound, {:.3g} absolute with bounds of at most {:.3g}",
                                 check.largest_ratio, check.largest_deviation, check.largest_bound);
  if (std::isinf(check.largest_bound)) text += "; infinite bounds prove nothing";
  if (check.widened > 1)
    text += fmt::format("; sensitive to rounding, so that the tolerance is {:.3g} times the usual one", check.widened);
  return text;
}

/// Several outputs follow line by line.
std::string check_text(const LogitCheck& check, bool classes) {
  std::string text = check.against + ": " +
                     (check.outputs.size() == 1 ? output_check_text(check.outputs.front())
                                                : fmt::format("{} outputs", check.outputs.size()));
  if (check.outside > 0)
    text += fmt::format("; {} outside the bound, first {}", counted(check.outside, "image is", "images are"),
                        fmt::join(check.first_ids, " "));
  if (check.beyond > 0)
    text += fmt::format("; {} within it, but off by up to {:.3g} times the tolerance, first {}",
                        counted(check.beyond, "image is", "images are"), check.worst().largest_excess,
                        fmt::join(check.first_ids, " "));
  if (check.undecided > 0)
    text += fmt::format("; {} beyond the tolerance, up to {:.3g} times, as rounding may move them",
                        counted(check.undecided, "image is", "images are"), check.worst().largest_excess);
  if (classes) text += fmt::format("; {}", counted(check.differing, "prediction differs", "predictions differ"));
  if (!check.near_ties.empty()) text += fmt::format(", {} of them near ties", check.near_ties.size());
  return text;
}

std::string nodes_text(const NodeCheck& check) {
  return fmt::format(
      "each of {} against fp64 of its own inputs, {}: largest deviation {:.3g} of the bound, at {}; its outputs differ "
      "from the run's by at most {:.3g}",
      check.nodes, counted(check.images, "image", "images"), check.largest_ratio, check.worst,
      check.largest_difference);
}

void add_outputs(const LogitCheck& check, std::string& text) {
  if (check.outputs.size() == 1) return;
  for (const OutputCheck& output : check.outputs)
    text += report_line("", escaped(output.name) + ": " + output_check_text(output));
}

void add_ties(const LogitCheck& check, std::string& text) {
  for (std::size_t i = 0; i < std::min(check.near_ties.size(), kShownTies); ++i) {
    const NearTie& tie = check.near_ties[i];
    text += report_line("near tie", fmt::format("image {}: class {}, expected {}; rounding decides between them",
                                                tie.image + 1, tie.found, tie.expected));
  }
}

std::string against_fp32_text(const ModelReport& r) {
  return fmt::format("{} against fp32 by {}: {} of {} predictions differ, outputs by at most {:.3g}",
                     to_string(r.precision), r.against_fp32->variant, r.against_fp32->differing, r.predictions.size(),
                     r.against_fp32->largest_difference);
}

std::string compared_text(const ModelReport& r) {
  const ComparedModelRun& c = *r.compared;
  return fmt::format(
      "--rewrite none by {}: infer {:.6f} s; {:.2f} times as long, {} of {} predictions differ, outputs by at most "
      "{:.3g}",
      c.variant, c.infer.median, c.infer.median / r.seconds.infer.median, c.differing, r.predictions.size(),
      c.largest_difference);
}

std::string model_overflow_text(const ModelReport& r) {
  return fmt::format("numbers may have exceeded {} from {} on; another order of summation may give different outputs",
                     r.precision == Precision::fp16_sums ? "fp16" : "fp32", escaped(r.overflow));
}

void add_profile(const ModelReport& r, std::string& text) {
  if (r.profile.empty()) return;
  double sum = 0;
  for (const NodeSeconds& node : r.profile) sum += node.seconds;
  text += fmt::format("{:<16} {:>12}   {:>6}  {:<16} {}\n", "profile", "seconds", "share", "operation", "node");
  for (const NodeSeconds& node : r.profile)
    text += fmt::format("{:<16} {:>12.6f} s {:>6.2f} % {:<16} {}\n", "", node.seconds,
                        sum > 0 ? 100 * node.seconds / sum : 0, node.operation, escaped(node.name));
}

Json multiply_adds_json(const MultiplyAdds& adds) { return {{"dense", adds.dense}, {"sparse", adds.sparse}}; }

Json accuracy_json(const std::optional<Accuracy>& a) {
  if (!a) return nullptr;
  return {{"images", a->images},
          {"top_1", a->top_1()},
          {"k", a->classes},
          {"top_k", a->top_k()},
          {"at_least", json_or_null(a->at_least)}};
}

/// JSON cannot express infinite numbers, such as a ratio to a bound of zero.
Json finite_json(double number) { return std::isfinite(number) ? Json(number) : Json(); }

Json output_check_json(const OutputCheck& check) {
  return {{"name", check.name},
          {"largest_ratio", finite_json(check.largest_ratio)},
          {"largest_deviation", finite_json(check.largest_deviation)},
          {"largest_bound", finite_json(check.largest_bound)},
          {"largest_expected", finite_json(check.largest_expected)},
          {"tolerance", finite_json(check.tolerance)},
          {"widened", check.widened},
          {"largest_excess", finite_json(check.largest_excess)}};
}

/// The numbers are those of the worst output.
Json check_json(const std::optional<LogitCheck>& check) {
  if (!check) return nullptr;
  Json ties = Json::array();
  for (const NearTie& tie : check->near_ties)
    ties.push_back({{"image", tie.image + 1}, {"found", tie.found}, {"expected", tie.expected}});
  Json outputs = Json::array();
  for (const OutputCheck& output : check->outputs) outputs.push_back(output_check_json(output));
  Json json = {{"against", check->against}, {"images", check->images}};
  json.update(output_check_json(check->worst()));
  json.erase("name");
  json.update({{"outputs", outputs},
               {"outside", check->outside},
               {"beyond", check->beyond},
               {"undecided", check->undecided},
               {"first_ids", check->first_ids},
               {"differing", check->differing},
               {"near_ties", ties}});
  return json;
}

Json nodes_json(const std::optional<NodeCheck>& check) {
  if (!check) return nullptr;
  return {{"images", check->images},
          {"nodes", check->nodes},
          {"largest_ratio", finite_json(check->largest_ratio)},
          {"worst", check->worst},
          {"largest_difference", finite_json(check->largest_difference)}};
}

Json against_fp32_json(const std::optional<ModelDifference>& against) {
  if (!against) return nullptr;
  return {{"variant", against->variant},
          {"differing", against->differing},
          {"largest_difference", finite_json(against->largest_difference)}};
}

Json compared_json(const ModelReport& r) {
  if (!r.compared) return nullptr;
  return {{"variant", r.compared->variant},
          {"rewrites", "none"},
          {"infer", spread_json(r.compared->infer)},
          {"images_per_second", r.compared->infer.median > 0 ? r.images / r.compared->infer.median : 0},
          {"differing", r.compared->differing},
          {"largest_difference", finite_json(r.compared->largest_difference)}};
}

Json outputs_json(const ModelReport& r) {
  Json outputs = Json::array();
  for (const ModelOutput& output : r.outputs)
    outputs.push_back({{"name", output.name}, {"shape", shape_json(output.shape)}});
  return outputs;
}

Json profile_json(const ModelReport& r) {
  if (r.profile.empty()) return nullptr;
  Json nodes = Json::array();
  for (const NodeSeconds& node : r.profile)
    nodes.push_back({{"name", node.name}, {"operation", node.operation}, {"seconds", node.seconds}});
  return nodes;
}

}  // namespace

bool LogitCheck::conclusive() const {
  return std::all_of(outputs.begin(), outputs.end(), [](const OutputCheck& output) { return output.conclusive(); });
}

const OutputCheck& LogitCheck::worst() const {
  const auto distance = [](const OutputCheck& output) { return std::max(output.largest_ratio, output.largest_excess); };
  return *std::max_element(outputs.begin(), outputs.end(),
                           [&](const OutputCheck& a, const OutputCheck& b) { return distance(a) < distance(b); });
}

double ModelReport::images_per_second() const { return seconds.infer.median > 0 ? images / seconds.infer.median : 0; }

double ModelReport::operations_per_second(double of_an_image) const { return 2 * of_an_image * images_per_second(); }

std::string to_text(const ModelReport& r) {
  std::string text;
  const auto line = [&](std::string_view key, const std::string& value) { text += report_line(key, value); };
  line("model", model_text(r));
  line("images", images_text(r));
  line("variant", variant_text(r));
  line("rewrites", to_string(r.rewrites));
  text += notes_text(r);
  text += phases_text(r, {.plan = "  the rewrites", .share = "  model and images to the other ranks"});
  if (r.ranks) line("ranks", ranks_text(*r.ranks));
  add_profile(r, text);
  line("rate", fmt::format("{:.6g} images/s  (images / infer median)", r.images_per_second()));
  line("dense", operations_text(r, r.multiply_adds.dense, r.multiply_adds_run.dense, "of all weights, zeros too,"));
  line("sparse",
       operations_text(r, r.multiply_adds.sparse, r.multiply_adds_run.sparse, "of weights that are not zero"));
  if (!r.overflow.empty()) line("overflow", model_overflow_text(r));
  text += answers_text(r);
  if (r.accuracy) line("accuracy", accuracy_text(*r.accuracy));
  if (r.compared) line("compared with", compared_text(r));
  if (r.device_state) line("device state", device_state_text(*r.device_state));
  if (r.against_fp32) line("precision", against_fp32_text(r));
  for (const auto& [name, check] : {std::pair{"expected", &r.expected}, std::pair{"reference", &r.recomputed}}) {
    if (!*check) continue;
    line(name, check_text(**check, r.classes > 0));
    add_outputs(**check, text);
    add_ties(**check, text);
  }
  if (r.nodes_checked) line("nodes", nodes_text(*r.nodes_checked));
  line("verdict", fmt::format("{} (against {})", to_string(r.verdict.status), r.verdict.against));
  return text;
}

std::string to_json(const ModelReport& r) {
  Json json = {{"schema", "spdnn-model-1"},
               {"model",
                {{"file", r.model},
                 {"name", r.name},
                 {"input", shape_json(r.input)},
                 {"output", shape_json(r.outputs.front().shape)},
                 {"outputs", r.outputs.size()},
                 {"named_outputs", outputs_json(r)},
                 {"nodes", r.nodes},
                 {"nodes_run", r.nodes_run},
                 {"weights", r.weights},
                 {"nonzeros", r.nonzeros},
                 {"multiply_adds", multiply_adds_json(r.multiply_adds)},
                 {"multiply_adds_run", multiply_adds_json(r.multiply_adds_run)}}},
               {"images", r.images},
               {"available", r.available},
               {"classes", r.classes},
               {"rewrites", to_string(r.rewrites)},
               {"images_per_second", r.images_per_second()},
               {"flops",
                {{"dense", r.operations_per_second(r.multiply_adds.dense)},
                 {"sparse", r.operations_per_second(r.multiply_adds.sparse)}}},
               {"profile", profile_json(r)},
               {"overflow", json_or_null(r.overflow)},
               {"accuracy", accuracy_json(r.accuracy)},
               {"expected", check_json(r.expected)},
               {"reference", check_json(r.recomputed)},
               {"nodes", nodes_json(r.nodes_checked)},
               {"compared", compared_json(r)},
               {"against_fp32", against_fp32_json(r.against_fp32)},
               {"verdict", judgement_json(r.verdict)}};
  json.update(record_json(r));
  return json_line(json);
}

}  // namespace spdnn
