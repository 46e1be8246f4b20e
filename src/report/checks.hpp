#pragma once

#include <string>
#include <vector>

#include "report/json_fields.hpp"

namespace spdnn {

/// The names of the comparisons behind the verdict of a line of schema spdnn-run-1, sorted and unique, whatever their
/// results. Two runs with equal names were checked alike, whatever the wording of their verdicts.
std::vector<std::string> checks_of(const JsonFields& line);

}  // namespace spdnn
