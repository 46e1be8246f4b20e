#include <fmt/format.h>

#include <optional>
#include <string>

#include "cli/infer_model.hpp"
#include "cli/run_steps.hpp"
#include "cli/signals.hpp"
#include "cli/specification.hpp"
#include "cluster/rank_name.hpp"
#include "inference/ranks/inference_on_ranks.hpp"
#include "io/arrays/activations.hpp"
#include "io/models/model_file.hpp"
#include "io/networks/text/tsv_writer.hpp"
#include "spdnn/error.hpp"
#include "spdnn/inference.hpp"

namespace spdnn::cli {

namespace {

/// Options in groups; within each, the most common come first.
CommandForm infer_form() {
  OptionGroup results{.heading = "Results"};
  results.options.add_options()                                                                          //
      ("truth", takes("FILE"), "file of the true categories")                                            //
      ("verify", takes("K"), "recompute K images (or all) with the reference engine and compare")        //
      ("categories", takes("FILE"), "write the categories here (-: stdout), in the challenge's format")  //
      ("activations", takes("FILE"),
       "write the activations after the last layer here (-: stdout): .npy (dense), .npz (SciPy's CSR), .tsv[.gz]")  //
      ("json", takes("FILE"), "write the report here (-: stdout) as one JSON line");
  OptionGroup timing{.heading = "Timing and memory"};
  timing.options.add_options()                                                  //
      ("trials", takes("N", "1"), "number of times the inference is run")       //
      ("warm-up", takes("N", "0"), "uncounted trials before these")             //
      ("compare", "also run with --reduce dead; compare rates and categories")  //
      ("precision", takes("fp32|fp64|tf32|fp16"),
       "tf32 and fp16 are compared with fp32; default: the variant's first")                                          //
      ("batch", takes("N", "auto"), "images at a time; auto: as many as fit in memory")                               //
      ("device-state", "record the CUDA device's clocks, temperature, power and energy during the trials")            //
      ("checkpoint", takes("FILE"), "on SIGTERM or SIGUSR1, save the state in this file and stop; continue from it")  //
      ("checkpoint-every", takes("TIME|never", "15m"), "interval between checkpoints during the run: 30s, 15m, 4h")   //
      ("max-time", takes("TIME"), "save the checkpoint and stop before this time has passed: 30s, 15m, 4h")           //
      ("host-memory", takes("SIZE", "auto"),                                                                          //
       "memory for network, plan and images: 500M, 4G; a larger .spdnn is streamed")                                  //
      ("device-memory", takes("SIZE", "auto"), "memory for an engine on its CUDA device; auto: all that is free")     //
      ("share-devices", "ranks may share CUDA devices if a node has more ranks than devices")                         //
      ("deal", takes("auto|fixed|counter", "auto"),
       "which rank runs which images: fixed shares, or images that the ranks of a node take from a counter")  //
      ("join-timeout", takes("SECONDS", "600"), "time limit for all ranks to start");
  return {.name = "infer",
          .summary =
              "Runs a network on images and writes the categories: the images with a non-zero after the last layer. "
              "The report has times, the rate and a verdict.",
          .usage = "spdnn infer (--network PATH | --generate official) (--inputs FILE | --mnist FILE) [OPTIONS]",
          .groups = {network_options(), image_options(), results, timing, engine_options()},
          .examples =
              "  spdnn infer --network n1024.spdnn --inputs images.spdnn\n"
              "  spdnn infer --network n1024 --inputs sparse-images-1024.tsv \\\n"
              "    --verify all --trials 5 --json run.json\n"};
}

TruthSpec truth_spec(const po::variables_map& values) {
  TruthSpec spec;
  spec.path = text_of(values, "truth").value_or("");
  fill_sample(values, spec);
  return spec;
}

void fill_checkpoint(const po::variables_map& values, InferenceSpec& spec) {
  spec.checkpoint = text_of(values, "checkpoint").value_or("");
  if (is_stdout(spec.checkpoint)) throw UsageError("--checkpoint: a checkpoint cannot go to stdout; expected a file");
  const std::string every = values["checkpoint-every"].as<std::string>();
  if (spec.checkpoint.empty() && !values["checkpoint-every"].defaulted())
    throw UsageError("--checkpoint-every needs --checkpoint");
  spec.checkpoint_every = every == "never" ? std::nullopt : std::optional(parse_seconds("checkpoint-every", every));
  if (const auto time = text_of(values, "max-time")) spec.max_time = parse_seconds("max-time", *time);
  spec.warning = [](const std::string& text) { print_message(rank_name(), {text}); };
}

InferenceSpec inference_spec(const po::variables_map& values) {
  InferenceSpec spec;
  fill_engine(values, spec);
  fill_run(values, spec);
  spec.network = network_spec(values);
  spec.images = image_spec(values);
  spec.truth = truth_spec(values);
  spec.device_memory = parse_bytes("device-memory", values["device-memory"].as<std::string>());
  spec.deal = parse_word<Deal>("deal", values["deal"].as<std::string>(),
                               {{"auto", Deal::automatic}, {"fixed", Deal::fixed}, {"counter", Deal::counter}});
  spec.activations = values.count("activations") != 0;
  fill_checkpoint(values, spec);
  return spec;
}

ResultFiles<Report> network_files(const po::variables_map& values) {
  std::vector<NamedOutput> checkpoint;
  if (const auto path = text_of(values, "checkpoint")) checkpoint.push_back({"--checkpoint", *path});
  const OutputForm form = output_form_of(values, "activations", {OutputForm::npy, OutputForm::npz, OutputForm::tsv});
  return {{values,
           {"categories", "activations"},
           named_inputs(values, {"network", "mnist", "truth", "inputs"}),
           checkpoint},
          [form](const Report& report) -> std::vector<RunFiles::Write> {
            return {[&](AtomicFile& out) { write_tsv_categories(out, report.outcome.categories); },
                    [&, form](AtomicFile& out) { write_activations(out, report.outcome.activations.value(), form); }};
          }};
}

/// UsageError if an option is given that `other` has and `form` has not.
void refuse_of(const CommandForm& other, const CommandForm& form, const po::variables_map& values, const char* why) {
  const po::options_description theirs = other.options();
  const po::options_description these = form.options();
  for (const auto& [name, value] : values)
    if (!value.defaulted() && theirs.find_nothrow(name, false) != nullptr && these.find_nothrow(name, false) == nullptr)
      throw UsageError(fmt::format("--{} {}{}", name, why,
                                   name == "images" ? "; --first N takes the first N images of a model" : ""));
}

bool runs_model(const po::variables_map& values) { return values.count("model") != 0; }

/// The options of networks and of models. An option that both have is the same, but that models take several --inputs.
CommandForm form_of_both() {
  const CommandForm networks = infer_form();
  OptionGroup all{.options = infer_model_form().options()};
  const po::options_description of_networks = networks.options();
  for (const auto& option : of_networks.options())
    if (all.options.find_nothrow(option->long_name(), false) == nullptr) all.options.add(option);
  return {.name = networks.name,
          .summary = {},
          .usage = "spdnn infer (--network PATH | --generate official | --model MODEL) --inputs FILE [OPTIONS]",
          .groups = {all}};
}

/// Returns false if only help was requested.
bool parse_infer(const Arguments& arguments, po::variables_map& values) {
  if (!arguments.empty() && names_model(arguments.front()))
    throw UsageError(
        fmt::format("'{}' is not an option; did you mean --model {}?", arguments.front(), arguments.front()));
  const auto chosen = [](const po::variables_map& given) {
    return runs_model(given) ? infer_model_form() : infer_form();
  };
  if (!parse(arguments, form_of_both(), values, chosen)) return false;
  if (runs_model(values))
    refuse_of(infer_form(), infer_model_form(), values, "cannot be used with --model");
  else
    refuse_of(infer_model_form(), infer_form(), values, "needs --model");
  return true;
}

}  // namespace

std::vector<CommandForm> infer_forms() { return {infer_form(), infer_model_form()}; }

int infer(const Arguments& arguments) {
  StartTimes times;
  times.load = process_cpu_seconds();
  po::variables_map values;
  if (!parse_infer(arguments, values)) return 0;
  if (runs_model(values)) return infer_model(values, times);
  InferenceSpec spec = inference_spec(values);
  if (!spec.checkpoint.empty()) spec.stop = stop_on_signals();
  return infer_on_ranks<InferenceOnRanks>(values, spec, times, network_files, [&] {
    if (!spec.checkpoint.empty()) remove_checkpoint(spec.checkpoint);
  });
}

}  // namespace spdnn::cli
