#include "cli/result_files.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "io/arrays/activations.hpp"
#include "io/networks/outputs.hpp"
#include "io/networks/text/tsv_writer.hpp"
#include "spdnn/error.hpp"

namespace spdnn::cli {

std::unique_ptr<AtomicFile> open_file(const std::optional<std::string>& path) {
  return path && !is_stdout(*path) ? std::make_unique<AtomicFile>(*path) : nullptr;
}

void write_to_stdout(const std::optional<std::string>& path, const std::function<void(AtomicFile&)>& write) {
  if (!path || !is_stdout(*path)) return;
  AtomicFile file(output_path(*path));
  write(file);
  file.commit();
}

std::vector<NamedOutput> outputs_of(const po::variables_map& values, std::initializer_list<const char*> options) {
  std::vector<NamedOutput> outputs;
  std::string to_stdout;
  for (const char* const option : options) {
    const auto path = text_of(values, option);
    if (!path) continue;
    const std::string name = "--" + std::string(option);
    if (is_stdout(*path) && !to_stdout.empty())
      throw UsageError(fmt::format("{} and {} cannot both be -, which is stdout", to_stdout, name));
    if (is_stdout(*path)) to_stdout = name;
    outputs.push_back({name, output_path(*path)});
  }
  return outputs;
}

ResultFiles::ResultFiles(const po::variables_map& values)
    : categories_path_(text_of(values, "categories")),
      activations_path_(text_of(values, "activations")),
      json_path_(text_of(values, "json")) {
  std::vector<NamedOutput> outputs = outputs_of(values, {"categories", "activations", "json"});
  if (activations_path_)
    activations_form_ =
        output_form("--activations", *activations_path_, {OutputForm::npy, OutputForm::npz, OutputForm::tsv});
  if (const auto path = text_of(values, "checkpoint")) outputs.push_back({"--checkpoint", *path});
  std::vector<NamedInput> inputs;
  for (const char* const option : {"network", "inputs", "mnist", "truth"})
    if (const auto path = text_of(values, option)) inputs.push_back({"--" + std::string(option), *path});
  check_outputs(outputs, inputs);
}

void ResultFiles::attempt(const std::function<void()>& write) {
  if (error_) return;
  try {
    write();
  } catch (const Error&) {
    error_ = std::current_exception();
    categories_.reset();
    activations_.reset();
  }
}

void ResultFiles::write(const Outcome& outcome) {
  attempt([&] {
    categories_ = open_file(categories_path_);
    if (categories_) write_tsv_categories(*categories_, outcome.categories);
    activations_ = open_file(activations_path_);
    if (activations_) write_activations(*activations_, outcome.activations.value(), activations_form_);
    for (AtomicFile* const file : {categories_.get(), activations_.get()})
      if (file != nullptr) file->sync();
    if (!json_path_) AtomicFile::commit_together({categories_.get(), activations_.get()});
  });
}

void ResultFiles::finish(const Report& report) {
  const bool taken = categories_path_ == "-" || activations_path_ == "-" || json_path_ == "-";
  const std::string text = to_text(report);
  std::fputs(text.c_str(), taken ? stderr : stdout);
  if (json_path_) {
    attempt([&] {
      const std::unique_ptr<AtomicFile> json = open_file(json_path_);
      if (json) json->write(to_json(report));
      AtomicFile::commit_together({categories_.get(), activations_.get(), json.get()});
    });
  }
  if (error_) std::rethrow_exception(error_);
  write_to_stdout(categories_path_, [&](AtomicFile& out) { write_tsv_categories(out, report.outcome.categories); });
  write_to_stdout(activations_path_, [&](AtomicFile& out) {
    write_activations(out, report.outcome.activations.value(), activations_form_);
  });
  write_to_stdout(json_path_, [&](AtomicFile& out) { out.write(to_json(report)); });
}

}  // namespace spdnn::cli
