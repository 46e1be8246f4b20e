// `spdnn prune`: a sparse model from a dense one, without training.

#include <fmt/format.h>

#include <cstdio>

#include "cli/commands.hpp"
#include "cli/infer_model.hpp"
#include "cli/model_inputs.hpp"
#include "cli/result_files.hpp"
#include "inference/prune/run.hpp"
#include "io/models/model_file.hpp"
#include "io/networks/outputs.hpp"
#include "report/prune_document.hpp"
#include "report/render/html/html.hpp"
#include "spdnn/error.hpp"
#include "spdnn/files.hpp"

namespace spdnn::cli {

namespace {

constexpr const char* kPruneUsage =
    "spdnn prune MODEL OUT (--sparsity S | --per-layer FILE | --min-accuracy A | --pattern N:M) [OPTIONS]";

CommandForm prune_form() {
  OptionGroup weights{.heading = "Which weights"};
  weights.options.add_options()                                                                                //
      ("sparsity", takes("S"), "share of zeros, from 0 to below 1, in each layer or in all together")          //
      ("per-layer", takes("FILE"), "shares by layer: lines of a node's name or number, a blank, and a share")  //
      ("min-accuracy", takes("A"),
       "search the shares with the least predicted time that keep this accuracy or, without labels, this share of the "
       "dense model's predictions")                                                                      //
      ("scope", takes("layer|global", "layer"), "--sparsity holds for each layer, or for all together")  //
      ("pattern", takes("free|uniform|N:M", "free"),
       "uniform: as many weights for each output channel; 2:4: at most 2 of 4 neighbouring input channels")  //
      ("score", takes("magnitude|activations", "magnitude"),
       "keep the weights of largest |w|, or of |w| times the root mean square of what it multiplies");
  OptionGroup images{.heading = "Images"};
  add_model_inputs(images.options);
  images.options.add_options()                                                 //
      ("labels", takes("FILE"), "true classes: IDX[.gz], .npy, .txt or .csv")  //
      ("calibrate", takes("N"),
       "the first N images are for scores and repair, the others measure the loss; default: half, at most 512")  //
      ("repair", takes("all|none|weights|norms"),
       "weights: fit those left to the dense model's outputs; norms: re-estimate batch norms; default: all");
  OptionGroup others{.heading = "Model and report"};
  others.options.add_options()                                                                                       //
      ("shape", takes("N,C,H,W"), "shape of the model's input; the letter N means any number; default: the file's")  //
      ("batch", takes("N", "1"), "images at a time that times are predicted for")                                    //
      ("threads", takes("N"), "host threads; default: all that are granted")                                         //
      ("json", takes("FILE"), "write the report here (-: stdout) as one JSON line")                                  //
      ("html", takes("FILE"), "write the report as a page with charts (-: stdout)");
  return {.name = "prune",
          .summary =
              "Sets weights of a model to zero, without training, and writes the sparse model. With images, the "
              "other weights are fitted to what the dense model computes, and the report says what was lost. "
              "Layers whose filters have fewer than 32 weights stay dense, unless --per-layer names them.",
          .usage = kPruneUsage,
          .groups = {weights, images, others},
          .positional = {"MODEL", "OUT"},
          .examples =
              "  spdnn prune dense.onnx pruned.onnx --sparsity 0.8 --scope global \\\n"
              "    --inputs images.npy --labels labels.txt\n"};
}

PruneSettings prune_settings(const po::variables_map& values, bool has_images) {
  const auto value = [&](const char* option) { return values[option].as<std::string>(); };
  const std::string repair = text_of(values, "repair").value_or(has_images ? "all" : "none");
  PruneSettings settings;
  settings.device = Device::cpu;
  if (const auto threads = text_of(values, "threads")) settings.threads = parse_threads(*threads);
  settings.structure = parse_structure(value("pattern"));
  settings.by_activations = parse_word<bool>("score", value("score"), {{"magnitude", false}, {"activations", true}});
  parse_word<int>("repair", repair, {{"all", 0}, {"none", 0}, {"weights", 0}, {"norms", 0}});
  settings.repair_weights = repair == "all" || repair == "weights";
  settings.repair_norms = repair == "all" || repair == "norms";
  return settings;
}

PruneSpec prune_spec(const po::variables_map& values) {
  PruneSpec spec{.model = values["model"].as<std::string>(), .out = values["out"].as<std::string>()};
  const bool global =
      parse_word<bool>("scope", values["scope"].as<std::string>(), {{"layer", false}, {"global", true}});
  if (const auto text = text_of(values, "sparsity")) spec.share = WantedShare{parse_share("sparsity", *text), global};
  if (global && !spec.share) throw UsageError("--scope global needs --sparsity");
  spec.shares = text_of(values, "per-layer").value_or("");
  if (const auto least = text_of(values, "min-accuracy")) spec.min_accuracy = parse_real("min-accuracy", *least);
  if (const auto shape = text_of(values, "shape")) spec.shape = parse_shape(*shape);
  spec.inputs = model_inputs(values);
  spec.settings = prune_settings(values, values.count("inputs") != 0);
  spec.labels = text_of(values, "labels").value_or("");
  if (const auto calibrate = text_of(values, "calibrate")) spec.calibrate = parse_count("calibrate", *calibrate);
  spec.batch = parse_count("batch", values["batch"].as<std::string>());
  return spec;
}

/// UsageError if OUT is no model's name, or would overwrite an input or another output.
void check_files(const PruneSpec& spec, const po::variables_map& values) {
  if (!is_written_form(spec.out))
    throw UsageError(fmt::format("OUT: '{}' does not end in {}, the formats for models", spec.out, written_endings()));
  std::vector<NamedInput> inputs = named_inputs(values, {"inputs", "labels", "table", "per-layer"});
  inputs.push_back({"MODEL", spec.model});
  for (const Path& beside : files_beside(spec.model)) inputs.push_back({"the graph beside MODEL", beside});
  std::vector<NamedOutput> outputs = outputs_of(values, {"json", "html"});
  outputs.push_back({"OUT", spec.out});
  for (const Path& beside : files_beside(spec.out)) outputs.push_back({"the graph beside OUT", beside});
  check_outputs(outputs, inputs);
}

}  // namespace

std::vector<CommandForm> prune_forms() { return {prune_form()}; }

int prune(const Arguments& arguments) {
  po::variables_map values;
  if (!parse(arguments, prune_form(), values)) return 0;
  const PruneSpec spec = prune_spec(values);
  check_files(spec, values);
  const PageFiles files(values, {}, {});
  const PruneResult result = spdnn::prune(spec);
  files.write(
      to_json(result.report), [&] { return to_html(prune_document(result.report)); },
      [&] { write_model(spec.out, result.model); }, to_text(result.report));
  return 0;
}

}  // namespace spdnn::cli
