#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/suite_lines.hpp"
#include "cli/suite_spec.hpp"

namespace spdnn::cli {

/// What came of a configuration.
struct ConfigurationResults {
  std::vector<SuiteResult> results;     ///< one per repetition that there is
  std::optional<std::string> given_up;  ///< why there will be no more
};

/// A row per configuration that has a result, in columns that are named as in `spdnn report`: medians over the
/// repetitions, and the shortest and the longest of all trials; then a line for each that has fewer repetitions than
/// asked for, with the reason.
std::string suite_table(const SuiteSpec& spec, const std::vector<ConfigurationResults>& all);

/// Guesses how long runs will take from how long others took: from those of the same configuration, else in proportion
/// to the edges of the network.
class RunTimes {
 public:
  explicit RunTimes(const SuiteSpec& spec) : spec_(spec), seconds_(spec.configurations.size()) {}
  void add(std::size_t configuration, double seconds);
  /// Of so many more runs of each configuration, within what the limit of a run allows; empty before the first.
  std::optional<double> guess(const std::vector<Index>& runs) const;

 private:
  struct Known {
    double seconds = 0;
    Index runs = 0;
  };
  const SuiteSpec& spec_;
  std::vector<Known> seconds_;
};

/// For people: 45 s, 12 min, 3.5 h.
std::string duration_text(double seconds);

}  // namespace spdnn::cli
