#include "cli/model_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <vector>

#include "cli/result_files.hpp"
#include "io/export/model_file.hpp"
#include "io/import/npy.hpp"
#include "io/outputs.hpp"
#include "spdnn/error.hpp"

namespace spdnn::cli {

namespace {

std::unique_ptr<AtomicFile> open(const std::optional<std::string>& path) {
  return path ? std::make_unique<AtomicFile>(output_path(*path)) : nullptr;
}

IntegerTensor integers(const std::vector<Index>& predictions) {
  return {{static_cast<Extent>(predictions.size())}, std::vector<std::int64_t>(predictions.begin(), predictions.end())};
}

}  // namespace

ModelFiles::ModelFiles(const po::variables_map& values)
    : logits_path_(text_of(values, "logits")),
      predictions_path_(text_of(values, "predictions")),
      json_path_(text_of(values, "json")) {
  std::vector<NamedOutput> outputs;
  std::string to_stdout;
  for (const char* const option : {"logits", "predictions", "json"}) {
    const auto path = text_of(values, option);
    if (!path) continue;
    const std::string name = "--" + std::string(option);
    if (is_stdout(*path) && !to_stdout.empty())
      throw UsageError(fmt::format("{} and {} cannot both be -, which is stdout", to_stdout, name));
    if (is_stdout(*path)) to_stdout = name;
    outputs.push_back({name, output_path(*path)});
  }
  std::vector<NamedInput> inputs;
  for (const char* const option : {"model", "inputs", "labels", "expected", "table"})
    if (const auto path = text_of(values, option)) inputs.push_back({"--" + std::string(option), *path});
  const std::filesystem::path model = values["model"].as<std::string>();
  for (const std::filesystem::path& beside : files_beside(model))
    inputs.push_back({"the graph beside --model", beside});
  check_outputs(outputs, inputs);
}

void ModelFiles::check_against(const ModelReport& report) const {
  if (predictions_path_ && report.classes == 0)
    throw UsageError("--predictions: the model's output is " + shape_text(report.output) +
                     ", which is no list of classes");
}

void ModelFiles::write(const ModelReport& report) {
  try {
    logits_ = open(logits_path_);
    if (logits_) write_npy(*logits_, report.logits);
    predictions_ = open(predictions_path_);
    if (predictions_) write_npy(*predictions_, integers(report.predictions));
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
  if (!json_path_) return;
  AtomicFile json(output_path(*json_path_));
  json.write(to_json(report));
  AtomicFile::commit_together({logits_.get(), predictions_.get(), &json});
}

}  // namespace spdnn::cli
