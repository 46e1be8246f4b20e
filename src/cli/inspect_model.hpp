#pragma once

#include "cli/commands.hpp"

namespace spdnn::cli {

/// `inspect` of a model: its nodes, what they weigh, and which variants take it.
int inspect_model(const Arguments& arguments);

}  // namespace spdnn::cli
