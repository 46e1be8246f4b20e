#pragma once

#include <string>

#include "report/json_fields.hpp"
#include "report/run_line.hpp"

namespace spdnn {

// Parts that lines of several schemas have. Each throws a DataError if a field is missing or wrong.

LineOrigin origin_of(const JsonFields& line);
/// PASSED, FAILED or UNVERIFIED.
std::string status_of(const JsonFields& line);
/// Checks a stated rate against the one computed from the line's numbers: a difference is an error.
void check_rate(const JsonFields& line, const char* name, double done, double seconds, const char* what = "edges");

}  // namespace spdnn
