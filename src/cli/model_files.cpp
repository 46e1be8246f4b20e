#include "cli/model_files.hpp"

#include <filesystem>
#include <string>

#include "io/arrays/answers.hpp"
#include "io/models/model_file.hpp"
#include "io/networks/outputs.hpp"
#include "spdnn/error.hpp"

namespace spdnn::cli {

namespace {

OutputForm form_of(const po::variables_map& values, const char* option) {
  const auto path = text_of(values, option);
  return path ? output_form("--" + std::string(option), *path, {OutputForm::npy, OutputForm::csv, OutputForm::txt})
              : OutputForm::npy;
}

std::vector<NamedInput> inputs_of_model(const po::variables_map& values) {
  std::vector<NamedInput> inputs;
  for (const std::string& path : texts_of(values, "inputs")) inputs.push_back({"--inputs", path});
  for (const char* const option : {"model", "labels", "expected", "table", "names"})
    if (const auto path = text_of(values, option)) inputs.push_back({"--" + std::string(option), *path});
  for (const std::filesystem::path& beside : files_beside(values["model"].as<std::string>()))
    inputs.push_back({"the graph beside --model", beside});
  return inputs;
}

}  // namespace

ModelFiles::ModelFiles(const po::variables_map& values)
    : logits_form_(form_of(values, "logits")),
      predictions_form_(form_of(values, "predictions")),
      wants_predictions_(values.count("predictions") != 0),
      files_(values, {"logits", "predictions"}, inputs_of_model(values)) {}

void ModelFiles::check_against(const ModelReport& report) const {
  if (wants_predictions_ && report.classes == 0)
    throw UsageError("--predictions: the model's output is " + shape_text(report.output) +
                     ", which is not a list of classes");
}

std::vector<RunFiles::Write> ModelFiles::writers(const ModelReport& report) const {
  return {[&, form = logits_form_](AtomicFile& out) {
            write_logits(out, report.logits, {report.image_files, report.class_names}, form);
          },
          [&, form = predictions_form_](AtomicFile& out) {
            write_predictions(out, report.predictions, {report.image_files, report.class_names}, form);
          }};
}

}  // namespace spdnn::cli
