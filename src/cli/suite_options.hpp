#pragma once

#include "bench/suite_spec.hpp"
#include "cli/options.hpp"

namespace spdnn::cli {

/// The suite that the options describe. UsageError if they contradict each other.
bench::SuiteSpec suite_spec(const po::variables_map& values);

}  // namespace spdnn::cli
