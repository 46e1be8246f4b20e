#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "spdnn/types.hpp"

namespace spdnn::cli {

// Runs of `spdnn infer` in processes of their own, as benchmarks start them.

/// `this program infer`, after the words of a launcher such as `mpirun -np {ranks}`, if one is given; `{ranks}` in it
/// is replaced. UsageError about --launcher where it has no word.
std::vector<std::string> infer_command(const std::optional<std::string>& launcher, Index ranks);

/// Runs a command, its output to stderr, and returns its exit code.
int run_command(const std::vector<std::string>& words);

/// What a run wrote with --json.
nlohmann::ordered_json line_of_run(const std::filesystem::path& path);

/// DeviceError about --launcher where another number of ranks ran.
void check_ranks(const nlohmann::ordered_json& run, Index ranks);

}  // namespace spdnn::cli
