#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "bench/child_run.hpp"
#include "io/files/temporaries.hpp"

namespace spdnn::bench {

/// A temporary directory for the runs of a benchmark: their images, lines and messages. It is removed at the end.
class RunFolder {
 public:
  /// Created in the directory `scratch`, which is made if it is missing; messages about its files use `name` in place
  /// of the path. DataError about `scratch` on failure.
  RunFolder(const std::filesystem::path& scratch, const char* name);

  std::filesystem::path file(const char* name) const { return folder_.path() / name; }
  /// The file for --json of a run.
  std::filesystem::path line() const { return file("run.json"); }
  /// The file for stderr of a run.
  std::filesystem::path messages() const { return file("messages"); }

 private:
  Temporary folder_;
};

/// Adds `--option value` to a command.
void add_option(std::vector<std::string>& command, const char* option, const std::string& value);

/// Formats the command for a shell.
std::string shell_text(const std::vector<std::string>& command);

/// The reason for a run's failure on one line: the text after `spdnn: ` in its messages; or, if the message comes from
/// a launcher, all of its text without rules and empty lines, up to a limit.
std::string reason_in(const std::filesystem::path& messages);

}  // namespace spdnn::bench
