#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/text/json.hpp"
#include "io/files/temporaries.hpp"
#include "spdnn/report.hpp"
#include "spdnn/types.hpp"

namespace spdnn::bench {

/// The parts of a run's line used by a suite.
struct SuiteResult {
  std::string variant;
  Spread infer;  ///< seconds per trial; without the sum
  double rate = 0;
  std::optional<double> rate_computed;
  double rate_with_setup = 0;
  double rate_end_to_end = 0;
  std::string verdict;
};
/// UnexpectedJson if a field is missing or has another type.
SuiteResult suite_result(const Json& line);

/// The lines of a suite: those already in its file, and new ones. The file is replaced as a whole with each new line,
/// so that an interruption leaves only whole lines.
class SuiteLines {
 public:
  enum class Use { read, append };
  /// Reads the file, if it exists. DataError with file and line if a line is truncated or is not a JSON object. For
  /// appending, the file is locked until this object is destroyed or the process ends: DataError if another suite holds
  /// it.
  SuiteLines(std::optional<std::string> path, Use use);

  /// The lines that this program wrote for these options and this repetition, on any machine.
  std::vector<Json> find(const Json& asked, Index repetition) const;
  /// Adds the suite's fields to the line of a run, and appends it to the current file. Lines added by other programs
  /// meanwhile are kept. DataError, with the file unchanged, if the file no longer begins with its earlier lines, or if
  /// its last line is unfinished.
  void append(Json line, const Json& asked, Index repetition, Index repetitions);

 private:
  void lock();
  std::string text_now() const;
  void check(const std::string& now) const;
  std::vector<Json> read() const;

  std::optional<std::string> path_;
  std::optional<Temporary> lock_;  ///< beside the file, which is replaced with each line
  std::string text_;               ///< the file's contents as last read or written
  Json program_;                   ///< null, or a digest of the program if the commit does not identify it
  std::vector<Json> lines_;
};

/// Whether two lines are from the same machine. A line of the CPU has no data about a device.
bool same_machine(const Json& line, const Json& machine);

}  // namespace spdnn::bench
