#pragma once

#include "report/json_fields.hpp"
#include "report/run_line.hpp"

namespace spdnn {

/// Reads a line of schema spdnn-model-1; DataError as of read_result_lines().
ModelLine model_of(const JsonFields& line);
/// The same of schema spdnn-model-bench-1.
ModelBenchLine model_bench_of(const JsonFields& line);

}  // namespace spdnn
