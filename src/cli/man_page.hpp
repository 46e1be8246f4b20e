#pragma once

#include <span>
#include <string>

#include "cli/commands.hpp"

namespace spdnn::cli {

/// The man page of one command, spdnn-NAME(1), in the macros of man(7).
std::string man_page(const Command& command);
/// spdnn(1), which lists the commands and the exit codes.
std::string man_page(std::span<const Command> commands);

}  // namespace spdnn::cli
