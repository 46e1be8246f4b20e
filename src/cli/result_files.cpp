#include "cli/result_files.hpp"

#include <fmt/format.h>

#include "spdnn/error.hpp"

namespace spdnn::cli {

namespace {

/// A pipe is closed before another is opened: its reader may read the other next.
void write_whole(AtomicFile& file, const std::string& text) {
  file.write(text);
  file.sync();
}

}  // namespace

std::unique_ptr<AtomicFile> open_file(const std::optional<std::string>& path) {
  return path && !is_stdout(*path) ? std::make_unique<AtomicFile>(*path) : nullptr;
}

void write_to_stdout(const std::optional<std::string>& path, const std::function<void(AtomicFile&)>& write) {
  if (!path || !is_stdout(*path)) return;
  AtomicFile file(output_path(*path));
  write(file);
  file.commit();
}

std::vector<NamedOutput> outputs_of(const po::variables_map& values, const std::vector<const char*>& options) {
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

PageFiles::PageFiles(const po::variables_map& values, std::initializer_list<const char*> of_page,
                     const std::vector<NamedInput>& inputs)
    : lines_(text_of(values, "json")), page_(text_of(values, "html")) {
  for (const char* const option : of_page)
    if (!page_ && values.count(option) != 0) throw UsageError(fmt::format("--{} needs --html", option));
  check_outputs(outputs_of(values, {"json", "html"}), inputs);
}

void PageFiles::keep(const std::string& lines) const {
  if (lines_ && !find_output_file(output_path(*lines_)).direct()) write_text(output_path(*lines_), lines);
}

void PageFiles::write(const std::string& lines, const std::function<std::string()>& page,
                      const std::function<void()>& others, const std::string& text) const {
  const std::unique_ptr<AtomicFile> lines_file = open_file(lines_);
  if (lines_file) write_whole(*lines_file, lines);
  const std::unique_ptr<AtomicFile> page_file = open_file(page_);
  if (page_file) write_whole(*page_file, page());
  others();
  AtomicFile::commit_together({lines_file.get(), page_file.get()});
  fmt::print(printed(), "{}", text);
  write_to_stdout(page_, [&](AtomicFile& out) { out.write(page()); });
  write_to_stdout(lines_, [&](AtomicFile& out) { out.write(lines); });
}

RunFiles::RunFiles(const po::variables_map& values, std::initializer_list<const char*> options,
                   const std::vector<NamedInput>& inputs, const std::vector<NamedOutput>& others)
    : json_path_(text_of(values, "json")) {
  std::vector<const char*> all(options);
  for (const char* const option : options) results_.push_back({text_of(values, option), nullptr});
  all.push_back("json");
  std::vector<NamedOutput> outputs = outputs_of(values, all);
  outputs.insert(outputs.end(), others.begin(), others.end());
  check_outputs(outputs, inputs);
}

void RunFiles::attempt(const std::function<void()>& write) {
  if (error_) return;
  try {
    write();
  } catch (const Error&) {
    error_ = std::current_exception();
    for (Result& result : results_) result.file.reset();
  }
}

void RunFiles::commit(AtomicFile* json) {
  std::vector<AtomicFile*> files;
  for (const Result& result : results_) files.push_back(result.file.get());
  files.push_back(json);
  AtomicFile::commit_together(files);
}

void RunFiles::write(const std::vector<Write>& results) {
  attempt([&] {
    for (std::size_t i = 0; i < results_.size(); ++i) {
      results_[i].file = open_file(results_[i].path);
      if (!results_[i].file) continue;
      results[i](*results_[i].file);
      results_[i].file->sync();
    }
    if (!json_path_) commit(nullptr);
  });
}

void RunFiles::finish(const std::string& report, const std::function<std::string()>& json,
                      const std::vector<Write>& results) {
  bool taken = json_path_ == "-";
  for (const Result& result : results_) taken = taken || result.path == "-";
  std::fputs(report.c_str(), taken ? stderr : stdout);
  if (json_path_) {
    attempt([&] {
      const std::unique_ptr<AtomicFile> file = open_file(json_path_);
      if (file) file->write(json());
      commit(file.get());
    });
  }
  if (error_) std::rethrow_exception(error_);
  for (std::size_t i = 0; i < results_.size(); ++i) write_to_stdout(results_[i].path, results[i]);
  write_to_stdout(json_path_, [&](AtomicFile& out) { out.write(json()); });
}

std::vector<NamedInput> named_inputs(const po::variables_map& values, std::initializer_list<const char*> options) {
  std::vector<NamedInput> inputs;
  for (const char* const option : options)
    for (const std::string& path : texts_of(values, option)) inputs.push_back({"--" + std::string(option), path});
  return inputs;
}

OutputForm output_form_of(const po::variables_map& values, const char* option,
                          std::initializer_list<OutputForm> forms) {
  const auto path = text_of(values, option);
  return path ? output_form("--" + std::string(option), *path, forms) : *forms.begin();
}

}  // namespace spdnn::cli
