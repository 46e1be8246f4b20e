#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/layer_bench.hpp"
#include "bench/print.hpp"

namespace spdnn::bench {

/// A variant in one of its precisions.
struct Candidate {
  const Variant* variant;
  Precision precision;

  std::string name() const;
};

/// Times each candidate on each problem. Prints a line per measurement and stores its JSON line in `json` (`-`:
/// stdout), both immediately, because a run may be interrupted. Unsupported cases are skipped, and a failure does not
/// stop the remaining measurements; a DeviceError at the end counts them.
void run_layers(const std::vector<LayerBench>& problems, const std::vector<Candidate>& candidates,
                const std::optional<std::string>& json, const Print& print);

}  // namespace spdnn::bench
