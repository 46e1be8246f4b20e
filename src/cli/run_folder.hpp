#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/child_run.hpp"
#include "io/files/temporaries.hpp"

namespace spdnn::cli {

/// A directory for the runs of a benchmark: their images, their lines, what they say. Nothing of it is left.
class RunFolder {
 public:
  /// In the directory `scratch`, which is made if it is missing; `name` stands for it in messages about its files.
  /// DataError about `scratch` where that cannot be.
  RunFolder(const std::filesystem::path& scratch, const char* name);

  std::filesystem::path file(const char* name) const { return folder_.path() / name; }
  /// For --json of a run.
  std::filesystem::path line() const { return file("run.json"); }
  /// What a run may write on stderr.
  std::filesystem::path messages() const { return file("messages"); }

 private:
  Temporary folder_;
};

/// Adds `--option value` to a command.
void add_option(std::vector<std::string>& command, const char* option, const std::string& value);

/// The command as a shell takes it.
std::string shell_text(const std::vector<std::string>& command);

/// Why a run failed, on one line: what follows `spdnn: ` in its messages; or, where a launcher has the word, all of its
/// words without rules and empty lines, up to some length.
std::string reason_in(const std::filesystem::path& messages);

}  // namespace spdnn::cli
