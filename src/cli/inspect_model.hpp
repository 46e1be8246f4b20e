#pragma once

#include "cli/command_form.hpp"
#include "cli/commands.hpp"

namespace spdnn::cli {

CommandForm inspect_model_form();
/// `inspect` of a model: its nodes, what they weigh, and which variants take it.
int inspect_model(const Arguments& arguments);

}  // namespace spdnn::cli
