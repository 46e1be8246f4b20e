#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/text/json.hpp"
#include "report/json_fields.hpp"
#include "spdnn/types.hpp"

namespace spdnn::bench {

// Runs of `spdnn infer` in separate processes, used by benchmarks.

/// The words of a launcher, if given, such as `mpirun -np {ranks}` with `{ranks}` replaced, then `this program infer`.
/// UsageError about --launcher if it is empty.
std::vector<std::string> infer_command(const std::optional<std::string>& launcher, Index ranks);

struct CommandOptions {
  std::filesystem::path messages = {};       ///< a file for its stderr; empty: this process's stderr
  std::optional<double> limit_seconds = {};  ///< after this time it is ended by SIGTERM, 5 s later by SIGKILL
};

struct CommandEnd {
  int code = 0;  ///< its exit code, or 128 plus the signal that ended it
  bool over_limit = false;
};

/// Runs a command, one at a time. If this process dies, the system ends the command by SIGTERM. DeviceError if it
/// cannot be started.
CommandEnd run_command(const std::vector<std::string>& words, const CommandOptions& options = {});

/// Ends the command that another thread runs, as a time limit does, and blocks that thread forever. For a process that
/// is about to end by a signal.
void end_running_command();

/// DataError if a line of a run lacks a field that benchmarks need.
void check_run(const JsonFields& line);

/// The line that a run wrote with --json. DataError (`path:1:column: ...`) if it is not JSON or check_run() refuses it.
Json line_of_run(const std::filesystem::path& path);

/// DeviceError about --launcher if a different number of ranks ran.
void check_ranks(const Json& run, Index ranks);

}  // namespace spdnn::bench
