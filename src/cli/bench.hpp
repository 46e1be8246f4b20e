#pragma once

#include "cli/commands.hpp"

namespace spdnn::cli {

int bench_layers(const Arguments& arguments);
int bench_suite(const Arguments& arguments);
int bench_scaling(const Arguments& arguments);

}  // namespace spdnn::cli
