#pragma once

#include "cli/command_form.hpp"
#include "cli/commands.hpp"

namespace spdnn::cli {

CommandForm bench_layers_form();
CommandForm bench_suite_form();
CommandForm bench_scaling_form();

int bench_layers(const Arguments& arguments);
int bench_suite(const Arguments& arguments);
int bench_scaling(const Arguments& arguments);

}  // namespace spdnn::cli
