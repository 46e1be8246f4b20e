#pragma once

#include <span>
#include <string>

#include "cli/commands.hpp"

namespace spdnn::cli {

/// A script that teaches a shell, `bash` or `fish`, the commands and their options, and of options the values that
/// there are, or that files are wanted. UsageError for other shells.
std::string completion(const std::string& shell, std::span<const Command> commands);

}  // namespace spdnn::cli
