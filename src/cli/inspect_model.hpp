#pragma once

#include <string>

#include "cli/commands.hpp"

namespace spdnn::cli {

/// Whether the name is one of a model's file.
bool names_model(const std::string& path);
/// `inspect` of a model: its nodes, what they weigh, and which variants take it.
int inspect_model(const Arguments& arguments);

}  // namespace spdnn::cli
