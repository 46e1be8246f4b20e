#pragma once

#include "bench/print.hpp"
#include "bench/suite_spec.hpp"

namespace spdnn::bench {

/// Runs a suite: official problems in turn, all of them repeatedly, each run in a process of its own. Prints a line for
/// each run, and a table at the end. Returns whether no verdict is FAILED. An error of the first failed run is thrown
/// after the table.
bool run_suite(SuiteSpec spec, const Print& print);

}  // namespace spdnn::bench
