#include "cli/model_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <initializer_list>
#include <vector>

#include "cli/result_files.hpp"
#include "io/arrays/answers.hpp"
#include "io/models/model_file.hpp"
#include "io/networks/outputs.hpp"
#include "spdnn/error.hpp"

namespace spdnn::cli {

namespace {

constexpr std::initializer_list<OutputForm> kAnswerForms{OutputForm::npy, OutputForm::csv, OutputForm::txt};

}  // namespace

ModelFiles::ModelFiles(const po::variables_map& values)
    : logits_path_(text_of(values, "logits")),
      predictions_path_(text_of(values, "predictions")),
      json_path_(text_of(values, "json")) {
  const std::vector<NamedOutput> outputs = outputs_of(values, {"logits", "predictions", "json"});
  if (logits_path_) logits_form_ = output_form("--logits", *logits_path_, kAnswerForms);
  if (predictions_path_) predictions_form_ = output_form("--predictions", *predictions_path_, kAnswerForms);
  std::vector<NamedInput> inputs;
  if (values.count("inputs") != 0)
    for (const std::string& path : values["inputs"].as<std::vector<std::string>>())
      inputs.push_back({"--inputs", path});
  for (const char* const option : {"model", "labels", "expected", "table", "names"})
    if (const auto path = text_of(values, option)) inputs.push_back({"--" + std::string(option), *path});
  const std::filesystem::path model = values["model"].as<std::string>();
  for (const std::filesystem::path& beside : files_beside(model))
    inputs.push_back({"the graph beside --model", beside});
  check_outputs(outputs, inputs);
}

void ModelFiles::check_against(const ModelReport& report) const {
  if (predictions_path_ && report.classes == 0)
    throw UsageError("--predictions: the model's output is " + shape_text(report.output) +
                     ", which is not a list of classes");
}

void ModelFiles::write(const ModelReport& report) {
  try {
    logits_ = open_file(logits_path_);
    const AnswerNames names{report.image_files, report.class_names};
    if (logits_) write_logits(*logits_, report.logits, names, logits_form_);
    predictions_ = open_file(predictions_path_);
    if (predictions_) write_predictions(*predictions_, report.predictions, names, predictions_form_);
    for (AtomicFile* const file : {logits_.get(), predictions_.get()})
      if (file != nullptr) file->sync();
    if (!json_path_) AtomicFile::commit_together({logits_.get(), predictions_.get()});
  } catch (const Error&) {
    error_ = std::current_exception();
    logits_.reset();
    predictions_.reset();
  }
}

void ModelFiles::finish(const ModelReport& report) {
  const bool taken = logits_path_ == "-" || predictions_path_ == "-" || json_path_ == "-";
  std::fputs(to_text(report).c_str(), taken ? stderr : stdout);
  if (error_) std::rethrow_exception(error_);
  if (json_path_) {
    const std::unique_ptr<AtomicFile> json = open_file(json_path_);
    if (json) json->write(to_json(report));
    AtomicFile::commit_together({logits_.get(), predictions_.get(), json.get()});
  }
  const AnswerNames names{report.image_files, report.class_names};
  write_to_stdout(logits_path_, [&](AtomicFile& out) { write_logits(out, report.logits, names, logits_form_); });
  write_to_stdout(predictions_path_,
                  [&](AtomicFile& out) { write_predictions(out, report.predictions, names, predictions_form_); });
  write_to_stdout(json_path_, [&](AtomicFile& out) { out.write(to_json(report)); });
}

}  // namespace spdnn::cli
