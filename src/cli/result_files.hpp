#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <optional>

#include "cli/options.hpp"
#include "io/atomic_file.hpp"
#include "spdnn/categories.hpp"
#include "spdnn/files.hpp"
#include "spdnn/report.hpp"

namespace spdnn::cli {

/// `-` as an output is stdout. What people read then goes to stderr.
Path output_path(const std::string& text);
inline bool is_stdout(const std::string& text) { return text == "-"; }

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
