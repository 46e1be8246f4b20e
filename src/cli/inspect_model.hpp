#pragma once

#include "cli/command_form.hpp"
#include "cli/commands.hpp"

namespace spdnn::cli {

CommandForm inspect_model_form();
/// `inspect` for a model: its nodes, their weights, and the variants that support it.
int inspect_model(const Arguments& arguments);

}  // namespace spdnn::cli
