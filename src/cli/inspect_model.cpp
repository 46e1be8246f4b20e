#include "cli/inspect_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "cli/infer_model.hpp"
#include "cli/result_files.hpp"
#include "core/counted.hpp"
#include "core/message.hpp"
#include "core/share_of_zeros.hpp"
#include "engines/devices.hpp"
#include "io/outputs.hpp"
#include "model/work.hpp"
#include "report/json_line.hpp"
#include "report/phases.hpp"
#include "spdnn/files.hpp"
#include "spdnn/model_engine.hpp"
#include "spdnn/model_inference.hpp"

namespace spdnn::cli {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kUsage = "spdnn inspect MODEL.onnx|.tflite|.safetensors|.spdnn [options]";

po::options_description options() {
  po::options_description options("Options", 120, 60);
  options.add_options()                                                                                           //
      ("shape", po::value<std::string>(), "of the model's input, N,C,H,W: N is any number; default: the file's")  //
      ("batch", po::value<std::string>()->default_value("1"), "images at a time, for which variants are asked")   //
      ("json", po::value<std::string>(), "write the same here (-: stdout) as one JSON line");
  return options;
}

/// A variant, and what it says of the model in its own precision.
struct Answer {
  const ModelVariant* variant = nullptr;
  Support support;
};

struct View {
  std::string path;
  const Model& model;
  std::vector<NodeWork> work;
  ModelWork total;
  Index batch = 1;
  std::vector<Answer> answers;
};

View view_of(const std::string& path, const Model& model, Index batch) {
  View view{path, model, work_of(model), {}, batch, {}};
  view.total = sum_of(view.work);
  for (const ModelVariant& variant : model_variants()) {
    Answer answer{&variant, {}};
    answer.support.why_not = why_unusable(variant.device);
    if (answer.support.takes())
      answer.support = support_of(variant, model, {.precision = variant.precisions.front(), .batch = batch});
    view.answers.push_back(std::move(answer));
  }
  return view;
}

void print_values(std::FILE* out, const char* what, const View& view, const std::vector<ValueId>& ids) {
  for (const ValueId id : ids)
    fmt::print(out, "{:<9} {}  {}\n", what, shape_text(view.model.values[id].shape),
               escaped(view.model.values[id].name));
}

void print_nodes(std::FILE* out, const View& view) {
  constexpr const char* kRow = "{:>5} {:<19} {:<20} {:>9} {:>9} {:>8} {:>17} {:>12} {:>12}  {}\n";
  fmt::print(out, fmt::runtime(kRow), "node", "operation", "output", "weights", "non-zero", "zeros", "of a row",
             "multiply-adds", "of these", "name");
  fmt::print(out, fmt::runtime(kRow), "", "", "", "", "", "%", "min/mean/max", "an image", "non-zero", "");
  for (std::size_t n = 0; n < view.work.size(); ++n) {
    const Node& node = view.model.nodes[n];
    const NodeWork& work = view.work[n];
    const bool weighs = work.rows > 0;
    const auto shown = [&](const std::string& text) { return weighs ? text : std::string(); };
    fmt::print(out, fmt::runtime(kRow), n + 1, operation_name(node.operation),
               shape_text(view.model.values[node.output].shape), shown(std::to_string(work.weights)),
               shown(std::to_string(work.nonzeros)),
               shown(fmt::format("{:.2f}", 100 * share_of_zeros(work.weights, work.nonzeros))),
               shown(fmt::format("{}/{:.1f}/{}", work.least, work.mean(), work.most)),
               shown(fmt::format("{:.6g}", work.dense())), shown(fmt::format("{:.6g}", work.sparse())),
               escaped(node.name));
  }
  fmt::print(out, fmt::runtime(kRow), "total", "", "", view.total.weights, view.total.nonzeros,
             fmt::format("{:.2f}", 100 * share_of_zeros(view.total.weights, view.total.nonzeros)), "",
             fmt::format("{:.6g}", view.total.dense), fmt::format("{:.6g}", view.total.sparse), "");
}

std::string megabytes(std::size_t bytes) { return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6); }

void print_view(std::FILE* out, const View& view) {
  fmt::print(out, "model     {}{}\n", escaped(view.path),
             view.model.name.empty() ? "" : fmt::format("  \"{}\"", escaped(view.model.name)));
  print_values(out, "input", view, view.model.inputs);
  print_values(out, "output", view, view.model.outputs);
  fmt::print(out, "\n");
  print_nodes(out, view);
  fmt::print(out, "\nmemory    model {}\n", megabytes(bytes_of(view.model)));
  for (const Answer& answer : view.answers) {
    fmt::print(out, "variant   {:<16} {}\n", answer.variant->name,
               answer.support.takes()
                   ? fmt::format("takes it; {} for {} at a time", megabytes(answer.support.working_bytes),
                                 counted(view.batch, "image", "images"))
                   : "does not take it: " + answer.support.why_not);
    for (const std::string& remark : answer.support.remarks) fmt::print(out, "{:<27}{}\n", "", escaped(remark));
  }
}

Json json_of(const View& view) {
  const auto values = [&](const std::vector<ValueId>& ids) {
    Json json = Json::array();
    for (const ValueId id : ids)
      json.push_back({{"name", view.model.values[id].name}, {"shape", shape_json(view.model.values[id].shape)}});
    return json;
  };
  Json nodes = Json::array();
  for (std::size_t n = 0; n < view.work.size(); ++n) {
    const Node& node = view.model.nodes[n];
    const NodeWork& work = view.work[n];
    nodes.push_back({{"name", node.name},
                     {"operation", operation_name(node.operation)},
                     {"output", shape_json(view.model.values[node.output].shape)},
                     {"weights", work.weights},
                     {"nonzeros", work.nonzeros},
                     {"row_nonzeros", {{"min", work.least}, {"mean", work.mean()}, {"max", work.most}}},
                     {"multiply_adds", {{"dense", work.dense()}, {"sparse", work.sparse()}}}});
  }
  Json variants = Json::array();
  for (const Answer& answer : view.answers)
    variants.push_back({{"name", answer.variant->name},
                        {"why_not", answer.support.takes() ? Json(nullptr) : Json(answer.support.why_not)},
                        {"bytes", answer.support.working_bytes},
                        {"remarks", answer.support.remarks}});
  return {{"model", view.path},
          {"name", view.model.name},
          {"inputs", values(view.model.inputs)},
          {"outputs", values(view.model.outputs)},
          {"nodes", nodes},
          {"weights", view.total.weights},
          {"nonzeros", view.total.nonzeros},
          {"multiply_adds", {{"dense", view.total.dense}, {"sparse", view.total.sparse}}},
          {"bytes", bytes_of(view.model)},
          {"batch", view.batch},
          {"variants", variants}};
}

}  // namespace

int inspect_model(const Arguments& arguments) {
  po::variables_map values;
  if (!parse(arguments, kUsage, options(), {"MODEL"}, values)) return 0;
  const std::string path = values["model"].as<std::string>();
  const auto json = text_of(values, "json");
  std::optional<Shape> shape;
  if (const auto text = text_of(values, "shape")) shape = parse_shape(*text);
  if (json) check_outputs({{"--json", output_path(*json)}}, {{"MODEL", path}});
  const Model model = read_model(path, shape);
  const View view = view_of(path, model, parse_count("batch", values["batch"].as<std::string>()));
  print_view(Printed(json).stream(), view);
  if (json) write_text(output_path(*json), json_line(json_of(view)));
  return 0;
}

}  // namespace spdnn::cli
