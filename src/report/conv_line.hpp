#pragma once

#include "report/json_fields.hpp"
#include "report/run_line.hpp"

namespace spdnn {

/// Reads a line of schema spdnn-conv-bench-1; DataError as of read_result_lines().
ConvLine conv_of(const JsonFields& line);

}  // namespace spdnn
