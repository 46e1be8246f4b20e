#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "io/files/temporaries.hpp"
#include "spdnn/report.hpp"
#include "spdnn/types.hpp"

namespace spdnn::cli {

/// What a suite makes of the line of a run.
struct SuiteResult {
  std::string variant;
  Spread infer;  ///< seconds, of its trials; without the sum
  double rate = 0;
  std::optional<double> rate_computed;
  double rate_with_setup = 0;
  double rate_end_to_end = 0;
  std::string verdict;
};
/// Throws nlohmann::json::exception where a field is missing or is something else.
SuiteResult suite_result(const nlohmann::ordered_json& line);

/// The lines of a suite: those that its file has already, and new ones. A new line is put in place by renaming a file
/// that has it and all lines before it, so that whoever ends the program leaves whole lines.
class SuiteLines {
 public:
  enum class Use { read, append };
  /// Reads the file, where there is one. DataError with file and line where a line is torn or is no JSON object. For
  /// appending, the file is this suite's alone until this is destroyed or the process ends, however it does: DataError
  /// where another suite has it.
  SuiteLines(std::optional<std::string> path, Use use);

  /// The lines that this program has written for these options, of any machine, with the repetition asked for.
  std::vector<nlohmann::ordered_json> find(const nlohmann::ordered_json& asked, Index repetition) const;
  /// Adds to the line of a run what the suite knows of it, and puts it at the end of the file as it is now. Lines that
  /// others have added since stay. DataError, and the file as it is, where it does not begin with what it had before,
  /// or where its last line has no end.
  void append(nlohmann::ordered_json line, const nlohmann::ordered_json& asked, Index repetition, Index repetitions);

 private:
  void lock();
  std::string text_now() const;
  void check(const std::string& now) const;
  std::vector<nlohmann::ordered_json> read() const;

  std::optional<std::string> path_;
  std::optional<Temporary> lock_;   ///< beside the file, which is a new one after each line
  std::string text_;                ///< of the file as it was read, or as it was left
  nlohmann::ordered_json program_;  ///< null, or a digest of the program where its commit does not say what it is
  std::vector<nlohmann::ordered_json> lines_;
};

/// Whether a line is of the machine that another line is of. A line of the CPU tells nothing of a device.
bool same_machine(const nlohmann::ordered_json& line, const nlohmann::ordered_json& machine);

}  // namespace spdnn::cli
