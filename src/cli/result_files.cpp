#include "cli/result_files.hpp"

#include <cstdio>

#include "io/outputs.hpp"
#include "io/text/tsv_writer.hpp"
#include "spdnn/error.hpp"

namespace spdnn::cli {

Path output_path(const std::string& text) { return is_stdout(text) ? "/dev/stdout" : text; }

ResultFiles::ResultFiles(const po::variables_map& values)
    : categories_path_(text_of(values, "categories")), json_path_(text_of(values, "json")) {
  if (categories_path_ == "-" && json_path_ == "-")
    throw UsageError("--categories and --json cannot both be -, which is stdout");
  std::vector<NamedOutput> outputs;
  if (categories_path_) outputs.push_back({"--categories", output_path(*categories_path_)});
  if (json_path_) outputs.push_back({"--json", output_path(*json_path_)});
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
  }
}

void ResultFiles::write_categories(const Categories& categories) {
  if (!categories_path_) return;
  attempt([&] {
    categories_ = std::make_unique<AtomicFile>(output_path(*categories_path_));
    write_tsv_categories(*categories_, categories);
    categories_->sync();
    if (!json_path_) categories_->commit();
  });
}

void ResultFiles::finish(const Report& report) {
  const bool taken = categories_path_ == "-" || json_path_ == "-";
  const std::string text = to_text(report);
  std::fputs(text.c_str(), taken ? stderr : stdout);
  if (json_path_) {
    attempt([&] {
      AtomicFile json(output_path(*json_path_));
      json.write(to_json(report));
      AtomicFile::commit_together({categories_.get(), &json});
    });
  }
  if (error_) std::rethrow_exception(error_);
}

}  // namespace spdnn::cli
