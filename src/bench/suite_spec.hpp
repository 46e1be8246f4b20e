#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/text/json.hpp"
#include "spdnn/types.hpp"

namespace spdnn::bench {

/// One of the problems of a suite, and the variant that runs it.
struct SuiteConfiguration {
  Index neurons = 0;
  Index layers = 0;
  std::string reduce;   ///< as given
  std::string variant;  ///< as given

  std::string name() const;
  double edges() const { return static_cast<double>(neurons) * layers; }
};

/// The work of `spdnn bench suite`, from its options.
struct SuiteSpec {
  std::vector<SuiteConfiguration> configurations;  ///< in order of execution; depths of a network are adjacent
  Index repetitions = 1;                           ///< of all configurations, in turn
  Index images = 0;                                ///< synthetic digits, unless `mnist` is given
  std::string mnist;
  std::string trials, warm_up, device;
  std::optional<std::string> precision, threads, launcher;
  Index ranks = 1;
  Index verify = 0;                      ///< images to verify for a problem without official categories
  std::optional<double> limit_seconds;   ///< limit of a run
  std::optional<double> budget_seconds;  ///< no run starts later
  std::filesystem::path scratch;         ///< keeps the images; empty: nothing is kept
  std::optional<std::string> json;
  bool dry_run = false;

  /// The name of the file with images of this width, which describes its contents.
  std::string images_name(Index neurons) const;
  /// Whether `verify` applies: no official categories are known.
  bool recomputes(const SuiteConfiguration& configuration) const;
  /// All parameters of a measurement except the program and the machine.
  Json asked(const SuiteConfiguration& configuration) const;
  /// `infer` with the options common to all runs of the suite.
  std::vector<std::string> command(const SuiteConfiguration& configuration, const std::filesystem::path& inputs,
                                   const std::filesystem::path& line) const;
};

}  // namespace spdnn::bench
