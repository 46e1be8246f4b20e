#pragma once

#include <vector>

#include "bench/timed_runs.hpp"
#include "cli/options.hpp"

namespace spdnn::cli {

/// The options --warm-up, --seconds and --runs of a command that times runs.
bench::RunLimits run_limits(const po::variables_map& values);

/// The list of --threads; without it, all threads that are granted.
std::vector<Index> thread_counts(const po::variables_map& values);

}  // namespace spdnn::cli
