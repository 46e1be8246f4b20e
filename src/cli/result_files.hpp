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
#include "io/files/output_target.hpp"
#include "io/networks/outputs.hpp"
#include "spdnn/files.hpp"

namespace spdnn::cli {

/// The files given for these options. UsageError if two of them are stdout.
std::vector<NamedOutput> outputs_of(const po::variables_map& values, const std::vector<const char*>& options);

/// Opens the file of an option; null if it is not given or is stdout (write_to_stdout).
std::unique_ptr<AtomicFile> open_file(const std::optional<std::string>& path);
/// Writes to stdout if the option's value is `-`. Call this after all files are in place: it ends the command if
/// stdout's reader has closed the pipe.
void write_to_stdout(const std::optional<std::string>& path, const std::function<void(AtomicFile&)>& write);

/// Text for people, printed by a command that may also write to `output`.
class Printed {
 public:
  explicit Printed(const std::optional<std::string>& output)
      : stream_(output && is_stdout(*output) ? stderr : stdout) {}
  std::FILE* stream() const { return stream_; }
  /// Flushed immediately, because a run may be interrupted.
  void put(const std::string& text) const {
    std::fputs(text.c_str(), stream_);
    std::fflush(stream_);
  }

 private:
  std::FILE* stream_;
};

/// The outputs of commands with --json, a line or several, and --html, a page.
class PageFiles {
 public:
  /// UsageError if an option of the page is given without it, or an output cannot be written or would overwrite an
  /// input.
  PageFiles(const po::variables_map& values, std::initializer_list<const char*> of_page,
            const std::vector<NamedInput>& inputs);
  bool has_page() const { return page_.has_value(); }
  /// For printed text.
  std::FILE* printed() const { return Printed(lines_ == "-" ? lines_ : page_).stream(); }
  /// Writes the lines so far, for a command that may be interrupted before write(). Pipes and stdout wait for that.
  void keep(const std::string& lines) const;
  /// Both files are put in place together, after `others` has written what belongs to them: nothing appears if one of
  /// them cannot be written. Output to stdout comes last, `text` for people first, because its reader may be gone.
  void write(
      const std::string& lines, const std::function<std::string()>& page, const std::function<void()>& others = [] {},
      const std::string& text = {}) const;

 private:
  std::optional<std::string> lines_;
  std::optional<std::string> page_;
};

/// The outputs of `infer`: results in files of their own, the report, the JSON line. The report is printed even if a
/// file cannot be written. Several files are put in place together at the end, so that adjacent files belong to one
/// run. Output to stdout is written last.
class RunFiles {
 public:
  using Write = std::function<void(AtomicFile&)>;

  /// Refuses outputs that cannot be written or would overwrite an input, before any work. `options` name the results'
  /// files.
  RunFiles(const po::variables_map& values, std::initializer_list<const char*> options,
           const std::vector<NamedInput>& inputs, const std::vector<NamedOutput>& others = {});
  /// Writes the results, in the order of the options. Errors are kept for finish().
  void write(const std::vector<Write>& results);
  /// Prints the report, writes the JSON line, then throws the first error.
  void finish(const std::string& report, const std::function<std::string()>& json, const std::vector<Write>& results);

 private:
  struct Result {
    std::optional<std::string> path;
    std::unique_ptr<AtomicFile> file;  ///< written, synced, not yet in place
  };

  void attempt(const std::function<void()>& write);
  void commit(AtomicFile* json);

  std::vector<Result> results_;
  std::optional<std::string> json_path_;
  std::exception_ptr error_;  ///< the first error
};

/// The outputs of a run with such a report.
template <class Report>
struct ResultFiles {
  RunFiles files;
  std::function<std::vector<RunFiles::Write>(const Report&)> writers;      ///< by option
  std::function<void(const Report&)> check_loaded = [](const Report&) {};  ///< refuses results that cannot be written

  void write(const Report& report) { files.write(writers(report)); }
  void finish(const Report& report) {
    files.finish(
        to_text(report), [&] { return to_json(report); }, writers(report));
  }
};

/// The files given for these options as inputs.
std::vector<NamedInput> named_inputs(const po::variables_map& values, std::initializer_list<const char*> options);
/// The form of an option's file; the first if it is not given.
OutputForm output_form_of(const po::variables_map& values, const char* option, std::initializer_list<OutputForm> forms);

}  // namespace spdnn::cli
