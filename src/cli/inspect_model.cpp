#include <fmt/format.h>

#include <cstdio>
#include <optional>
#include <vector>

#include "cli/commands.hpp"
#include "cli/ending.hpp"
#include "cli/infer_model.hpp"
#include "cli/result_files.hpp"
#include "core/text/amounts.hpp"
#include "core/text/json_text.hpp"
#include "core/text/message.hpp"
#include "core/types/shape_json.hpp"
#include "core/types/share_of_zeros.hpp"
#include "inference/model/inspect.hpp"
#include "io/models/model_file.hpp"
#include "io/models/onnx/writer.hpp"
#include "io/networks/outputs.hpp"
#include "report/model/document.hpp"
#include "report/render/html/html.hpp"
#include "spdnn/error.hpp"
#include "spdnn/files.hpp"

namespace spdnn::cli {

namespace {

void print_values(std::FILE* out, const char* what, const ModelView& view, const std::vector<ValueId>& ids) {
  for (const ValueId id : ids)
    fmt::print(out, "{:<9} {}  {}\n", what, shape_text(view.model.values[id].shape),
               escaped(view.model.values[id].name));
}

void print_nodes(std::FILE* out, const ModelView& view) {
  constexpr const char* kRow = "{:>5} {:<19} {:<20} {:>9} {:>9} {:>8} {:>17} {:>12} {:>12}  {}\n";
  fmt::print(out, fmt::runtime(kRow), "node", "operation", "output", "weights", "non-zero", "zeros", "per row",
             "multiply-adds", "of these", "name");
  fmt::print(out, fmt::runtime(kRow), "", "", "", "", "", "%", "min/mean/max", "per image", "non-zero", "");
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

/// A head and a line for each step.
std::vector<std::string> lines_of(const std::vector<ProgramStep>& program) {
  constexpr const char* kRow = "{:>4} {:>11} {:<22} {:<30} {}";
  if (program.empty()) return {};
  std::vector<std::string> lines{fmt::format(fmt::runtime(kRow), "", "predicted", "kernel", "layouts", "operation")};
  for (const ProgramStep& step : program)
    lines.push_back(fmt::format(fmt::runtime(kRow), lines.size(), fmt::format("{:.1f} us", 1e6 * step.seconds),
                                step.kernel, step.layouts,
                                step.operation + (step.why.empty() ? "" : fmt::format(" ({})", step.why))));
  return lines;
}

std::string megabytes(std::size_t bytes) { return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6); }

void print_view(std::FILE* out, const ModelView& view) {
  fmt::print(out, "model     {}{}\n", escaped(view.name),
             view.model.name.empty() ? "" : fmt::format("  \"{}\"", escaped(view.model.name)));
  print_values(out, "input", view, view.model.inputs);
  print_values(out, "output", view, view.model.outputs);
  fmt::print(out, "\n");
  print_nodes(out, view);
  fmt::print(out, "\nmemory    model {}\n", megabytes(bytes_of(view.model)));
  for (const FormBytes& form : bytes_by_form(view.model))
    fmt::print(out, "weights   {:<26} {} of {}\n", form.form, megabytes(form.bytes),
               counted(form.nodes, "node", "nodes"));
  const OnnxBytes onnx = onnx_bytes(view.model);
  fmt::print(out, "as .onnx  weights dense {}, sparse {}\n", megabytes(onnx.dense), megabytes(onnx.sparse));
  for (const std::string& note : view.notes) fmt::print(out, "note      {}\n", note);
  for (const VariantAnswer& answer : view.answers) {
    fmt::print(out, "variant   {:<16} {}\n", answer.name,
               answer.why_not.empty() ? fmt::format("supports it; {} for {} at a time", megabytes(answer.bytes),
                                                    counted(view.batch, "image", "images"))
                                      : "does not support it: " + answer.why_not);
    for (const std::string& remark : answer.remarks) fmt::print(out, "{:<27}{}\n", "", escaped(remark));
  }
  if (const std::vector<ProgramStep> program = program_of(view); !program.empty()) {
    fmt::print(out, "\nprogram of {}:\n", view.would_run.substr(0, view.would_run.find(' ')));
    for (const std::string& line : lines_of(program)) fmt::print(out, "{}\n", escaped(line));
    fmt::print(out, "\n");
  }
  const std::string at_a_time = fmt::format(" for {} at a time: ", counted(view.batch, "image", "images"));
  fmt::print(out, "would run {}{}\n", view.would_run.empty() ? "nothing: " : view.would_run + at_a_time,
             escaped(view.why));
}

Json model_json(const ModelView& view) {
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
  const OnnxBytes onnx = onnx_bytes(view.model);
  Json forms = Json::array();
  for (const FormBytes& form : bytes_by_form(view.model))
    forms.push_back({{"form", form.form}, {"nodes", form.nodes}, {"bytes", form.bytes}});
  Json variants = Json::array();
  for (const VariantAnswer& answer : view.answers)
    variants.push_back({{"name", answer.name},
                        {"why_not", json_or_null(answer.why_not)},
                        {"bytes", answer.bytes},
                        {"program", lines_of(answer.program)},
                        {"remarks", answer.remarks}});
  return {{"schema", "spdnn-inspect-1"},
          {"model", view.name},
          {"name", view.model.name},
          {"inputs", values(view.model.inputs)},
          {"outputs", values(view.model.outputs)},
          {"nodes", nodes},
          {"weights", view.total.weights},
          {"nonzeros", view.total.nonzeros},
          {"multiply_adds", {{"dense", view.total.dense}, {"sparse", view.total.sparse}}},
          {"bytes", bytes_of(view.model)},
          {"weight_forms", forms},
          {"onnx_bytes", {{"dense", onnx.dense}, {"sparse", onnx.sparse}}},
          {"notes", view.notes},
          {"batch", view.batch},
          {"variants", variants},
          {"would_run", json_or_null(view.would_run)},
          {"why", view.why}};
}

/// Only a node with weights can be shown on the page.
void check_shown(const ModelView& view, const std::optional<std::size_t>& shown) {
  if (!shown) return;
  if (*shown >= view.work.size())
    throw UsageError(fmt::format("--node: {} is outside 1..{}", *shown + 1, view.work.size()));
  if (matrix_or_null(view.model.nodes[*shown].operation) == nullptr)
    throw UsageError(fmt::format("--node: node {} is {}, which has no weights", *shown + 1,
                                 operation_name(view.model.nodes[*shown].operation)));
}

}  // namespace

CommandForm inspect_model_form() {
  OptionGroup group;
  group.options.add_options()                                                                                        //
      ("shape", takes("N,C,H,W"), "shape of the model's input; the letter N means any number; default: the file's")  //
      ("batch", takes("N"), "images at a time assumed for the variants; default: 1 or the model's")                  //
      ("precision", takes("fp32|fp64|bf16|fp16-sums"), "assumed for the variants; default: the first of each")       //
      ("json", takes("FILE"), "write the output here (-: stdout) as one JSON line")                                  //
      ("html", takes("FILE"), "write the model as a page with charts (-: stdout)")                                   //
      ("node", takes("N"), "the node whose weights the page shows; default: the one with the most");
  return {.name = "inspect",
          .summary = "Shows the nodes of a model, their weights and zeros, and which engines support it.",
          .usage = "spdnn inspect MODEL.onnx|.tflite|.safetensors|.spdnn [OPTIONS]",
          .groups = {group},
          .positional = {"MODEL"},
          .examples = "  spdnn inspect pruned.onnx --html model.html\n"};
}

int inspect_model(const Arguments& arguments) {
  po::variables_map values;
  if (!parse(arguments, inspect_model_form(), values)) return 0;
  const std::string path = values["model"].as<std::string>();
  std::vector<NamedInput> inputs{{"MODEL", path}};
  for (const Path& beside : files_beside(path)) inputs.push_back({"the graph beside MODEL", beside});
  const PageFiles files(values, {"node"}, inputs);
  std::optional<std::size_t> shown;
  if (const auto text = text_of(values, "node")) shown = parse_count("node", *text) - 1;
  std::optional<Shape> shape;
  if (const auto text = text_of(values, "shape")) shape = parse_shape(*text);
  EngineSettings settings;
  if (const auto text = text_of(values, "batch")) settings.batch = parse_count("batch", *text);
  if (const auto text = text_of(values, "precision")) settings.precision = parse_precision(*text);
  const Model model = read_model(path, shape);
  const ModelView view = inspected_model(path, model, settings, message_of);
  check_shown(view, shown);
  print_view(files.printed(), view);
  files.write(json_line(model_json(view)),
              [&] { return to_html(model_document(view, shown ? shown : heaviest_node(view))); });
  return 0;
}

}  // namespace spdnn::cli
