#pragma once

#include <string>
#include <vector>

#include "report/json_fields.hpp"

namespace spdnn {

/// The names of the comparisons that the verdict of a line of schema spdnn-run-1 rests on, sorted, each once, whatever
/// came of it. Two runs with the same ones were checked alike, however their verdicts put it.
std::vector<std::string> checks_of(const JsonFields& line);

}  // namespace spdnn
