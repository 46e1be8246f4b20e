#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

#include "cli/commands.hpp"
#include "cli/inspect_memory.hpp"
#include "cli/result_files.hpp"
#include "cli/specification.hpp"
#include "core/text/json_text.hpp"
#include "core/text/message.hpp"
#include "io/files/input_file.hpp"
#include "io/models/model_file.hpp"
#include "plan/describe.hpp"
#include "report/network/document.hpp"
#include "report/render/html/html.hpp"
#include "spdnn/error.hpp"
#include "spdnn/files.hpp"

namespace spdnn::cli {

namespace {

CommandForm inspect_network_form() {
  OptionGroup images{.heading = "Images and memory"};
  images.options.add_options()                                                        //
      ("images", takes("N", "60000"), "number of images, of all ranks together")      //
      ("ranks", takes("N", "1"), "number of ranks of the job whose memory is shown")  //
      ("ranks-per-node", takes("N"), "number of ranks per node; default: all")        //
      ("checkpoint",
       "show memory of a job with checkpoints, as in jobs/: CPU engines then keep "  //
       "all images of a batch")                                                      //
      ("host-memory", takes("SIZE", "auto"), "memory for the network and its plan: 500M, 4G");
  OptionGroup page{.heading = "Page and file"};
  page.options.add_options()                                                                                       //
      ("json", takes("FILE"), "write the output, without the table of layers, here (-: stdout) as one JSON line")  //
      ("html", takes("FILE"), "write the network as a page with charts (-: stdout)")                               //
      ("layer", takes("L"), "the layer whose edges the page shows, default 1")                                     //
      ("run", takes("FILE"), "JSON lines of spdnn infer: shows where images die");
  return {.name = "inspect",
          .summary = "Shows the layers of a network, the work that the exact passes skip, and the planned run.",
          .usage = "spdnn inspect (NETWORK | --generate official) [OPTIONS]",
          .groups = {network_options(), images, engine_options(), page},
          .positional = {"[NETWORK]"},
          .examples = "  spdnn inspect n1024.spdnn --html network.html\n"};
}

void print_layers(std::FILE* out, const std::vector<LayerDescription>& layers) {
  fmt::print(out, "{:>6} {:>6} {:>7} {:>7} {:>10} {:>17} {:>9} {:>7} {:>7} {:>7} {:>7} {:>7} {:>10} {:>8}\n", "layers",
             "first", "inputs", "outputs", "edges", "degree", "density", "weights", "twins", "zero", "unread", "stored",
             "edges", "distinct");
  fmt::print(out, "{:>6} {:>6} {:>7} {:>7} {:>10} {:>17} {:>9} {:>7} {:>7} {:>7} {:>7} {:>7} {:>10} {:>8}\n", "", "",
             "", "", "each", "min/mean/max", "", "values", "", "always", "", "neurons", "stored", "terms");
  for (const LayerKind& kind : kinds_of(layers)) {
    const LayerDescription& d = kind.layer;
    fmt::print(out, "{:>6} {:>6} {:>7} {:>7} {:>10} {:>17} {:>9.2e} {:>7} {:>7} {:>7} {:>7} {:>7} {:>10} {:>8.1f}\n",
               kind.count, kind.first, d.inputs, d.outputs, d.edges,
               fmt::format("{}/{:.1f}/{}", d.min_degree, d.mean_degree, d.max_degree), d.density, d.distinct_weights,
               d.twins, d.always_zero, d.unread, d.stored_outputs, d.stored_edges, kind.distinct_terms / kind.count);
  }
}

void print_certificates(std::FILE* out, const Plan& plan) {
  const auto from = [&](Index layer) { return certificate_text(layer, plan.depth()); };
  fmt::print(out, "dead images leave            {}\n", from(plan.certificates.dead_from));
  fmt::print(out, "saturated images leave       {}\n", from(plan.certificates.saturated_from));
}

std::string name_of(const NetworkSpec& network) {
  if (!network.path.empty()) return "Network " + escaped(std::filesystem::path(network.path).filename().string());
  return fmt::format("Official network, {} neurons", network.neurons.front());
}

/// The requests of --json, --html, --layer and --run.
struct PageRequest {
  PageFiles files;
  Index layer = 1;         ///< 1-based
  std::string lines_path;  ///< empty: none
  ResultLines lines{};
  std::optional<RunLine> run{};  ///< a run of the network, once it is loaded

  explicit PageRequest(const po::variables_map& values)
      : files(values, {"layer", "run"}, named_inputs(values, {"network", "run"})),
        lines_path(text_of(values, "run").value_or("")) {
    if (const auto text = text_of(values, "layer")) layer = parse_count("layer", *text);
    if (!lines_path.empty()) read_result_lines(lines_path, text_of_file(lines_path), lines);
  }

  /// Refuses requests that do not fit the network.
  void check_against(const Network& network) {
    if (files.has_page() && layer > network.layers.size())
      throw UsageError(fmt::format("--layer: {} is outside 1..{}", layer, network.layers.size()));
    if (!lines_path.empty()) run = run_of(network, lines, lines_path);
  }
};

Json json_of(const std::string& path, const NetworkView& view, Precision precision, Json memory) {
  return {{"schema", "spdnn-inspect-network-1"},
          {"network", json_or_null(path)},
          {"inputs", view.network.inputs()},
          {"layers", view.network.layers.size()},
          {"edges", view.network.edges()},
          {"stored_edges", view.plan.edges()},
          {"official", view.official},
          {"passes", to_string(view.plan.passes)},
          {"notes", view.notes},
          {"variant", view.variant},
          {"precision", to_string(precision)},
          {"why", view.why},
          {"memory", std::move(memory)}};
}

/// Whether an argument names a model, including those of other programs, in a place where no network option expects it.
bool names_a_model(const Arguments& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if ((holds_model(arguments[i]) || !conversion_hint(arguments[i]).empty()) &&
        (i == 0 || arguments[i - 1] != "--network"))
      return true;
  return false;
}

}  // namespace

std::vector<CommandForm> inspect_forms() { return {inspect_network_form(), inspect_model_form()}; }

int inspect(const Arguments& arguments) {
  if (names_a_model(arguments)) return inspect_model(arguments);
  po::variables_map values;
  if (!parse(arguments, inspect_network_form(), values)) return 0;
  if (values.count("network") == 0 && values.count("generate") == 0)
    throw UsageError(
        "NETWORK or MODEL is missing: a directory, .spdnn, .onnx, .tflite or .safetensors file; or give --generate "
        "official");
  InferenceSpec spec;
  spec.network = network_spec(values);
  fill_engine(values, spec);
  const InspectedRun job = inspected_run(values);
  PageRequest page(values);
  std::FILE* const out = page.files.printed();
  const GivenNetwork given = load_to_inspect(spec, parse_bytes("host-memory", values["host-memory"].as<std::string>()));
  page.check_against(given.network);
  const InspectedNetwork inspected = inspected_network(spec, given, job);
  const Plan& plan = inspected.plan;
  const EngineChoice& choice = inspected.choice;
  print_layers(out, inspected.layers);
  fmt::print(out, "\npasses                       {}\n", to_string(plan.passes));
  for (const std::string& note : plan.provenance.notes) fmt::print(out, "                             {}\n", note);
  for (const std::string& note : inspected.notes) fmt::print(out, "                             {}\n", note);
  print_certificates(out, plan);
  fmt::print(out, "edges                        {} given, {} stored\n", plan.provenance.given_edges, plan.edges());
  fmt::print(out, "official network             {}\n", given.official ? "yes" : "no");
  fmt::print(out, "variant                      {}{}{}\n", choice.variant->name, choice.why.empty() ? "" : ": ",
             choice.why);
  print_memory(out, job, inspected);
  const NetworkView view{.name = name_of(spec.network),
                         .network = given.network,
                         .plan = plan,
                         .layers = inspected.layers,
                         .shown = page.layer - 1,
                         .official = given.official,
                         .notes = inspected.notes,
                         .variant = std::string(choice.variant->name),
                         .why = choice.why,
                         .memory = memory_by_part(inspected),
                         .run = page.run};
  page.files.write(json_line(json_of(spec.network.path, view, choice.precision, memory_json(job, inspected))),
                   [&] { return to_html(network_document(view)); });
  return 0;
}

}  // namespace spdnn::cli
