#pragma once

#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "cli/options.hpp"
#include "io/atomic_file.hpp"
#include "spdnn/categories.hpp"
#include "spdnn/files.hpp"
#include "spdnn/report.hpp"

namespace spdnn::cli {

/// `-` as an output is stdout. What people read then goes to stderr.
Path output_path(const std::string& text);
inline bool is_stdout(const std::string& text) { return text == "-"; }

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

/// What `infer` leaves behind: the category list, the report, the JSON line. The report is printed even where a file
/// cannot be written. Where both files are asked for, they are put in place together at the end: a list and a JSON line
/// that stand side by side are of one run.
class ResultFiles {
 public:
  /// Refuses at once what cannot be written and what would overwrite an input.
  explicit ResultFiles(const po::variables_map& values);
  /// What goes wrong is kept for finish().
  void write_categories(const Categories& categories);
  /// Prints the report, writes the JSON line, then throws what has gone wrong.
  void finish(const Report& report);

 private:
  void attempt(const std::function<void()>& write);

  std::optional<std::string> categories_path_;
  std::optional<std::string> json_path_;
  std::unique_ptr<AtomicFile> categories_;  ///< written, synced, not yet in place
  std::exception_ptr error_;                ///< the first
};

}  // namespace spdnn::cli
