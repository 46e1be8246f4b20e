#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/suite_lines.hpp"
#include "bench/suite_spec.hpp"

namespace spdnn::bench {

/// The results of a configuration.
struct ConfigurationResults {
  std::vector<SuiteResult> results;     ///< one per finished repetition
  std::optional<std::string> given_up;  ///< why there will be no more repetitions
};

/// A row per configuration with a result, in columns named as in `spdnn report`: medians over the repetitions, and the
/// shortest and longest of all trials; then a line for each configuration with fewer repetitions than requested, with
/// the reason.
std::string suite_table(const SuiteSpec& spec, const std::vector<ConfigurationResults>& all);

/// Estimates the times of runs from finished ones: from runs of the same configuration, otherwise in proportion to the
/// network's edges.
class RunTimes {
 public:
  explicit RunTimes(const SuiteSpec& spec) : spec_(spec), seconds_(spec.configurations.size()) {}
  void add(std::size_t configuration, double seconds);
  /// Estimated seconds for `runs` further runs of each configuration, capped by the limit of a run; empty before the
  /// first run.
  std::optional<double> estimate(const std::vector<Index>& runs) const;

 private:
  struct Known {
    double seconds = 0;
    Index runs = 0;
  };
  const SuiteSpec& spec_;
  std::vector<Known> seconds_;
};

/// A readable duration: 45 s, 12 min, 3.5 h.
std::string duration_text(double seconds);

}  // namespace spdnn::bench
