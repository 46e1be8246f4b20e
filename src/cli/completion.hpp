#pragma once

#include <span>
#include <string>

#include "cli/commands.hpp"

namespace spdnn::cli {

/// A completion script for a shell, `bash` or `fish`: commands, options, and the values or files that options take.
/// UsageError for other shells.
std::string completion(const std::string& shell, std::span<const Command> commands);

}  // namespace spdnn::cli
