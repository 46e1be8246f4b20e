#pragma once

#include <cstdio>
#include <exception>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/options.hpp"
#include "io/files/atomic_file.hpp"
#include "io/files/output_form.hpp"
#include "io/networks/outputs.hpp"
#include "spdnn/files.hpp"
#include "spdnn/outcome.hpp"
#include "spdnn/report.hpp"

namespace spdnn::cli {

/// `-` as an output is stdout. What people read then goes to stderr.
Path output_path(const std::string& text);
inline bool is_stdout(const std::string& text) { return text == "-"; }
/// The files that are given for these options. UsageError where two of them are stdout.
std::vector<NamedOutput> outputs_of(const po::variables_map& values, std::initializer_list<const char*> options);

/// Opens what an option names: null where it is not given. stdout is no file (write_to_stdout).
std::unique_ptr<AtomicFile> open_file(const std::optional<std::string>& path);
/// Writes to stdout where the option's value is `-`. To be called when all files are in place: where nobody reads
/// stdout any more, it ends the command.
void write_to_stdout(const std::optional<std::string>& path, const std::function<void(AtomicFile&)>& write);

/// What people read of a command that may also write to `output`, if there is such a thing.
class Printed {
 public:
  explicit Printed(const std::optional<std::string>& output)
      : stream_(output && is_stdout(*output) ? stderr : stdout) {}
  std::FILE* stream() const { return stream_; }
  /// At once, as a run may be cut short.
  void put(const std::string& text) const {
    std::fputs(text.c_str(), stream_);
    std::fflush(stream_);
  }

 private:
  std::FILE* stream_;
};

/// What `infer` leaves behind: the category list, the activations, the report, the JSON line. The report is printed
/// even where a file cannot be written. Where several files are asked for, they are put in place together at the end:
/// files that stand side by side are of one run. What goes to stdout is written last.
class ResultFiles {
 public:
  /// Refuses at once what cannot be written and what would overwrite an input.
  explicit ResultFiles(const po::variables_map& values);
  /// What goes wrong is kept for finish().
  void write(const Outcome& outcome);
  /// Prints the report, writes the JSON line, then throws what has gone wrong.
  void finish(const Report& report);

 private:
  void attempt(const std::function<void()>& write);

  std::optional<std::string> categories_path_;
  std::optional<std::string> activations_path_;
  OutputForm activations_form_ = OutputForm::npy;
  std::optional<std::string> json_path_;
  std::unique_ptr<AtomicFile> categories_;  ///< written, synced, not yet in place
  std::unique_ptr<AtomicFile> activations_;
  std::exception_ptr error_;  ///< the first
};

}  // namespace spdnn::cli
