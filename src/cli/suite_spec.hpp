#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/options.hpp"
#include "spdnn/types.hpp"

namespace spdnn::cli {

/// One of the problems of a suite, and what is to run it.
struct SuiteConfiguration {
  Index neurons = 0;
  Index layers = 0;
  std::string reduce;   ///< as given
  std::string variant;  ///< as given

  std::string name() const;
  double edges() const { return static_cast<double>(neurons) * layers; }
};

/// What `spdnn bench suite` is to run, from its options.
struct SuiteSpec {
  std::vector<SuiteConfiguration>
      configurations;     ///< in the order in which they run; depths of a network are neighbours
  Index repetitions = 1;  ///< of all of them, one after another
  Index images = 0;       ///< synthetic digits, where there is no `mnist`
  std::string mnist;
  std::string trials, warm_up, device;
  std::optional<std::string> precision, threads, launcher;
  Index ranks = 1;
  Index verify = 0;                      ///< images of a problem for which no official categories are known
  std::optional<double> limit_seconds;   ///< of a run
  std::optional<double> budget_seconds;  ///< no run begins later
  std::filesystem::path scratch;         ///< keeps the images; empty: nothing is kept
  std::optional<std::string> json;
  bool dry_run = false;

  /// The file of the images of so many neurons, and what is in it.
  std::string images_name(Index neurons) const;
  /// Whether `verify` counts: no official categories are known.
  bool recomputes(const SuiteConfiguration& configuration) const;
  /// All that a measurement depends on besides the program and the machine.
  nlohmann::ordered_json asked(const SuiteConfiguration& configuration) const;
  /// `infer` with the options that all runs of the suite have.
  std::vector<std::string> command(const SuiteConfiguration& configuration, const std::filesystem::path& inputs,
                                   const std::filesystem::path& line) const;
};

/// UsageError where the options do not fit together.
SuiteSpec suite_spec(const po::variables_map& values);

}  // namespace spdnn::cli
