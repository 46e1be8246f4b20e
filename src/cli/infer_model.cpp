#include "cli/infer_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "cli/model_inputs.hpp"
#include "cli/specification.hpp"
#include "core/text/comma_list.hpp"
#include "inference/ranks/inference_on_ranks.hpp"
#include "io/arrays/answers.hpp"
#include "io/arrays/npz.hpp"
#include "io/models/model_file.hpp"
#include "spdnn/error.hpp"
#include "spdnn/model_inference.hpp"

namespace spdnn::cli {

namespace {

constexpr const char* kUsage = "spdnn infer --model MODEL --inputs PATH [OPTIONS]";

ModelTruth truth_of(const po::variables_map& values) {
  ModelTruth truth;
  truth.labels = text_of(values, "labels").value_or("");
  truth.expected = text_of(values, "expected").value_or("");
  if (const auto least = text_of(values, "min-accuracy")) truth.min_accuracy = parse_real("min-accuracy", *least);
  fill_sample(values, truth);
  return truth;
}

ModelSpec spec_of(const po::variables_map& values) {
  const auto value = [&](const char* option) { return values[option].as<std::string>(); };
  ModelSpec spec;
  fill_engine_settings(values, spec);
  fill_run(values, spec);
  spec.path = value("model");
  if (const auto shape = text_of(values, "shape")) spec.shape = parse_shape(*shape);
  if (values.count("inputs") == 0) throw UsageError(fmt::format("--inputs is missing; usage: {}", kUsage));
  spec.inputs = model_inputs(values);
  spec.truth = truth_of(values);
  spec.outputs = texts_of(values, "output");
  spec.names = text_of(values, "names").value_or("");
  spec.rewrites = parse_rewrites(value("rewrite"));
  spec.profile = values.count("profile") != 0;
  spec.compile_seconds = parse_seconds_or_0("compile-seconds", value("compile-seconds"));
  return spec;
}

void require_one_output(const ModelReport& report) {
  if (report.outputs.size() == 1) return;
  std::string names;
  for (const ModelOutput& output : report.outputs) names += (names.empty() ? "" : ", ") + output.name;
  throw UsageError(
      fmt::format("--logits: the model has {} outputs ({}): an .npz file takes all of them; --output NAME "
                  "chooses one",
                  report.outputs.size(), names));
}

void write_outputs(AtomicFile& out, const ModelReport& report, OutputForm form) {
  if (form != OutputForm::npz)
    return write_logits(out, report.logits(), {report.image_files, report.class_names}, form);
  std::vector<NamedTensor> outputs;
  for (const ModelOutput& output : report.outputs) outputs.push_back({output.name, output.values});
  write_npz(out, outputs);
}

ResultFiles<ModelReport> model_files(const po::variables_map& values) {
  std::vector<NamedInput> inputs = named_inputs(values, {"inputs", "model", "labels", "expected", "table", "names"});
  for (const std::filesystem::path& beside : files_beside(values["model"].as<std::string>()))
    inputs.push_back({"the graph beside --model", beside});
  const OutputForm logits =
      output_form_of(values, "logits", {OutputForm::npy, OutputForm::npz, OutputForm::csv, OutputForm::txt});
  const OutputForm predictions =
      output_form_of(values, "predictions", {OutputForm::npy, OutputForm::csv, OutputForm::txt});
  return {{values, {"logits", "predictions"}, inputs},
          [logits, predictions](const ModelReport& report) -> std::vector<RunFiles::Write> {
            return {[&, logits](AtomicFile& out) { write_outputs(out, report, logits); },
                    [&, predictions](AtomicFile& out) {
                      write_predictions(out, report.predictions, {report.image_files, report.class_names}, predictions);
                    }};
          },
          [wants_logits = values.count("logits") != 0, logits,
           wants_predictions = values.count("predictions") != 0](const ModelReport& report) {
            if (wants_logits && logits != OutputForm::npz) require_one_output(report);
            if (wants_predictions && report.classes == 0)
              throw UsageError("--predictions: the model's output is " + shape_text(report.outputs.front().shape) +
                               ", which is not a list of classes");
          }};
}

}  // namespace

Shape parse_shape(const std::string& text) {
  // Accepts the form used in reports: N x 3 x 224 x 224.
  std::string list = text;
  std::erase(list, ' ');
  std::replace(list.begin(), list.end(), 'x', ',');
  Shape shape;
  for (const std::string_view one : split_at_commas(list))
    shape.push_back(shape.empty() && one == "N" ? kBatchExtent : Extent{parse_count("shape", std::string(one))});
  return shape;
}

CommandForm infer_model_form() {
  OptionGroup model{.heading = "Model and images"};
  model.options.add_options()                                                                               //
      ("model", takes("FILE"), ".onnx, .tflite, .spdnn, or .safetensors with architecture.json beside it")  //
      ("shape", takes("N,C,H,W"), "shape of the model's input; the letter N means any number; default: the file's");
  add_model_inputs(model.options);
  OptionGroup results{.heading = "Results"};
  results.options.add_options()                                                                      //
      ("labels", takes("FILE"), "true classes: IDX[.gz], .npy, .txt or .csv")                        //
      ("min-accuracy", takes("X"), "with --labels: accuracy required for PASSED, above 0, up to 1")  //
      ("output", po::value<std::vector<std::string>>()->value_name("NAME")->composing(),
       "compute only this output; repeat it for several; default: all")                                             //
      ("expected", takes("FILE"), "expected outputs (.npz, or .npy of one) of the first or all images")             //
      ("verify", takes("K"), "recompute K images (or all) in fp64 and compare outputs within bound and tolerance")  //
      ("names", takes("FILE"), "names of the classes, one per line, for the report and .csv files")                 //
      ("logits", takes("FILE"), "write the output here (-: stdout): .npy, .csv or .txt; all of several: .npz")      //
      ("predictions", takes("FILE"), "write the classes here (-: stdout): .npy, .csv or .txt")                      //
      ("json", takes("FILE"), "write the report here (-: stdout) as one JSON line");
  OptionGroup run{.heading = "Run"};
  run.options.add_options()                                                        //
      ("variant", takes("ENGINE", "auto"), "engine; see spdnn variants --models")  //
      ("device", takes("auto|cpu|cuda", "auto"), "where the engine runs")          //
      ("precision", takes("fp32|fp64|bf16|fp16-sums"),
       "bf16 and fp16-sums are compared with fp32; default: the variant's first")                           //
      ("rewrite", takes("REWRITES", "all"), "exact rewrites of the model: all, none or a list")             //
      ("batch", takes("N", "auto"), "images at a time; auto: 64, or more small ones, if they fit")          //
      ("threads", takes("N"), "host threads, at most; default: all that are granted")                       //
      ("host-memory", takes("SIZE", "auto"), "memory for model, images and engine: 500M, 4G")               //
      ("compile-seconds", takes("SECONDS", "60"), "generate code for at most this time; 0: none")           //
      ("trials", takes("N", "1"), "number of times the inference is run")                                   //
      ("warm-up", takes("N", "0"), "uncounted trials before these")                                         //
      ("compare", "also run with --rewrite none; compare rates and logits")                                 //
      ("profile", "measure the time of each node")                                                          //
      ("device-state", "record the CUDA device's clocks, temperature, power and energy during the trials")  //
      ("share-devices", "ranks may share CUDA devices if a node has more ranks than devices")               //
      ("join-timeout", takes("SECONDS", "600"), "time limit for all ranks to start")                        //
      ("progress", takes("auto|never", "auto"), "auto: on a terminal");
  return {
      .name = "infer --model",
      .summary = "Runs a model, such as a pruned convolutional network, on images and writes its logits and classes.",
      .usage = kUsage,
      .groups = {model, results, run},
      .examples =
          "  spdnn infer --model pruned.onnx --inputs t10k-images-idx3-ubyte.gz \\\n"
          "    --divide 255 --labels t10k-labels-idx1-ubyte.gz\n"
          "  spdnn infer --model pruned.safetensors --inputs images.npy \\\n"
          "    --expected logits.npy --verify 16 --json run.json\n"
          "  spdnn infer --model pruned.onnx --inputs cat.jpg --names labels.txt\n"};
}

int infer_model(const po::variables_map& values, StartTimes start_times) {
  return infer_on_ranks<ModelInferenceOnRanks>(values, spec_of(values), start_times, model_files, [] {});
}

}  // namespace spdnn::cli
