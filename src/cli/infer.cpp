#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <optional>
#include <string>

#include "cli/infer_model.hpp"
#include "cli/on_ranks.hpp"
#include "cli/result_files.hpp"
#include "cli/signals.hpp"
#include "cli/specification.hpp"
#include "cluster/rank_name.hpp"
#include "core/system/exit_code.hpp"
#include "core/system/stopwatch.hpp"
#include "core/text/message.hpp"
#include "core/text/nearest_name.hpp"
#include "inference/network/inference_on_ranks.hpp"
#include "io/models/model_file.hpp"
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
       "which rank runs which images: fixed shares, or batches that the ranks of a node take from a counter")  //
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
  const auto verify = text_of(values, "verify");
  spec.everything = verify == "all";
  if (verify && !spec.everything) spec.sample = parse_count("verify", *verify);
  return spec;
}

Deal deal_of(const std::string& text) {
  if (text == "auto") return Deal::automatic;
  if (text == "fixed") return Deal::fixed;
  if (text == "counter") return Deal::counter;
  throw UsageError(fmt::format("--deal: '{}' is none of auto, fixed, counter", text));
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
  spec.network = network_spec(values);
  spec.images = image_spec(values);
  spec.truth = truth_spec(values);
  if (const auto precision = text_of(values, "precision")) spec.precision = parse_precision(*precision);
  spec.trials = static_cast<int>(parse_count("trials", values["trials"].as<std::string>()));
  spec.warm_up = static_cast<int>(parse_whole("warm-up", values["warm-up"].as<std::string>()));
  const std::string batch = values["batch"].as<std::string>();
  if (batch != "auto") spec.batch = parse_count("batch", batch);
  spec.host_memory = parse_bytes("host-memory", values["host-memory"].as<std::string>());
  spec.device_memory = parse_bytes("device-memory", values["device-memory"].as<std::string>());
  spec.share_devices = values.count("share-devices") != 0;
  spec.deal = deal_of(values["deal"].as<std::string>());
  spec.device_state = values.count("device-state") != 0;
  spec.compare = values.count("compare") != 0;
  spec.activations = values.count("activations") != 0;
  fill_checkpoint(values, spec);
  return spec;
}

ExitCode exit_code(const Report& report) {
  return report.verdict.status == Verdict::Status::failed ? ExitCode::wrong_results : ExitCode::done;
}

/// Adds the result of verify(). Returns the error, if any, so that the finished result is not lost because of it.
std::exception_ptr verify(Inference& inference, Report& report) {
  std::exception_ptr error;
  try {
    inference.verify();
  } catch (...) {
    error = std::current_exception();
  }
  report.verdict = inference.report().verdict;
  report.compared = inference.report().compared;
  report.against_fp32 = inference.report().against_fp32;
  return error;
}

/// From the specification to the report, on all ranks, each of which returns its own report; the first writes the
/// results.
Report run(Inference& inference, ResultFiles* files) {
  inference.load();
  inference.plan();
  inference.run();
  const Stopwatch writing;
  if (files != nullptr) files->write(inference.report().outcome);
  Report report = inference.report();
  report.seconds.write = writing.seconds();
  return report;
}

/// Times before the steps of the inference.
struct StartTimes {
  Stopwatch process;
  double load = 0;
  double join = 0;
};

int run_on(Communicator& ranks, const InferenceSpec& spec, std::optional<ResultFiles>& files,
           const StartTimes& start_times) {
  // Static, so that an error need not wait for a device that is still starting up: main ends without destroying it.
  static std::optional<InferenceOnRanks> inference;
  InferenceSpec rest = spec;
  if (rest.max_time) rest.max_time = std::max(0.0, *rest.max_time - start_times.process.seconds());
  inference.emplace(rest, ranks);
  report_errors_at_once();
  Report report;
  try {
    report = run(*inference, files ? &*files : nullptr);
  } catch (const Stopped& stopped) {
    if (ranks.is_root()) print_message({stopped.what()});
    return static_cast<int>(ExitCode::stopped);
  }
  end_on_signals();
  report.seconds.load = start_times.load;
  report.seconds.join = start_times.join;
  report.seconds.total = start_times.load + start_times.process.seconds();
  if (report.parts > 1) report.seconds.add(report.earlier);

  const std::exception_ptr error = verify(*inference, report);
  if (files) files->finish(report);
  if (error) std::rethrow_exception(error);
  if (files && !spec.checkpoint.empty()) remove_checkpoint(spec.checkpoint);
  ranks.barrier();
  return static_cast<int>(exit_code(report));
}

bool asks_for_model(const Arguments& arguments) {
  return std::any_of(arguments.begin(), arguments.end(), [](const std::string& argument) {
    return argument == "--model" || argument.starts_with("--model=");
  });
}

/// UsageError if an option is given that belongs only to `other`.
void refuse_of(const po::options_description& other, const po::options_description& these, const Arguments& arguments,
               const char* why) {
  for (const std::string& argument : arguments) {
    if (!argument.starts_with("--")) continue;
    const std::string name = argument.substr(2, argument.find('=') - 2);
    if (!name.empty() && other.find_nothrow(name, false) != nullptr && these.find_nothrow(name, false) == nullptr)
      throw UsageError(fmt::format("--{} {}", name, why));
  }
}

/// UsageError if --model was probably meant: a model without an option, or an unknown option whose nearest name is an
/// option of models.
void suggest_model(const Arguments& arguments) {
  const po::options_description own = infer_form().options();
  const std::vector<std::string> models = option_names(infer_model_form().options());
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    const bool is_value = i > 0 && arguments[i - 1].starts_with("--");
    if (!is_value && names_model(argument))
      throw UsageError(fmt::format("'{}' is not an option; did you mean --model {}?", argument, argument));
    if (!argument.starts_with("--") || argument.size() == 2) continue;
    const std::string name = argument.substr(2, argument.find('=') - 2);
    if (name.empty() || own.find_nothrow(name, false) != nullptr || !nearest_name(name, option_names(own)).empty())
      continue;
    if (const std::string hint = did_you_mean(name, models, "--"); !hint.empty())
      throw UsageError(fmt::format("unrecognised option '--{}'{}", name, hint));
  }
}

/// Returns false if only help was requested. Options of models get a message of their own.
bool parse_infer(const Arguments& arguments, po::variables_map& values) {
  try {
    return parse(arguments, infer_form(), values);
  } catch (const UsageError&) {
    refuse_of(infer_model_form().options(), infer_form().options(), arguments, "needs --model");
    suggest_model(arguments);
    throw;
  }
}

}  // namespace

std::vector<CommandForm> infer_forms() { return {infer_form(), infer_model_form()}; }

int infer(const Arguments& arguments) {
  StartTimes times;
  times.load = process_cpu_seconds();
  if (asks_for_model(arguments)) {
    refuse_of(infer_form().options(), infer_model_form().options(), arguments, "cannot be used with --model");
    return infer_model(arguments, times.load);
  }
  po::variables_map values;
  if (!parse_infer(arguments, values)) return 0;
  InferenceSpec spec = inference_spec(values);
  if (!spec.checkpoint.empty()) spec.stop = stop_on_signals();
  const Stopwatch joining;
  const std::unique_ptr<Communicator> ranks = join_ranks(values);
  times.join = ranks->is_alone() ? 0 : joining.seconds();
  std::optional<ResultFiles> files;
  if (ranks->is_root()) files.emplace(values);
  return end_together(*ranks, [&] { return run_on(*ranks, spec, files, times); });
}

}  // namespace spdnn::cli
