#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "report/json_fields.hpp"
#include "spdnn/types.hpp"

namespace spdnn::cli {

// Runs of `spdnn infer` in processes of their own, as benchmarks start them.

/// `this program infer`, after the words of a launcher such as `mpirun -np {ranks}`, if one is given; `{ranks}` in it
/// is replaced. UsageError about --launcher where it has no word.
std::vector<std::string> infer_command(const std::optional<std::string>& launcher, Index ranks);

struct CommandOptions {
  std::filesystem::path messages = {};       ///< a file for its stderr; empty: this process's own
  std::optional<double> limit_seconds = {};  ///< it is ended after this time: by SIGTERM, 5 s later by SIGKILL
};

struct CommandEnd {
  int code = 0;  ///< its exit code, or 128 and the signal that ended it
  bool over_limit = false;
};

/// Runs a command, one at a time. If this process dies, the system ends the command by SIGTERM. DeviceError where it
/// cannot be started.
CommandEnd run_command(const std::vector<std::string>& words, const CommandOptions& options = {});

/// For a process that is about to end by a signal: ends the command that another thread runs, as a limit does, and lets
/// that thread wait forever.
void end_running_command();

/// DataError where a line of a run lacks something that benchmarks read from it.
void check_run(const JsonFields& line);

/// What a run wrote with --json. DataError (`path:1:column: ...`) where check_run() refuses it, or it is no JSON.
nlohmann::ordered_json line_of_run(const std::filesystem::path& path);

/// DeviceError about --launcher where another number of ranks ran.
void check_ranks(const nlohmann::ordered_json& run, Index ranks);

}  // namespace spdnn::cli
