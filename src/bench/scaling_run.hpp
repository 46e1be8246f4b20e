#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "bench/print.hpp"
#include "spdnn/types.hpp"

namespace spdnn::bench {

/// The work of `spdnn bench scaling`, from its options.
struct ScalingSpec {
  std::vector<Index> ranks;  ///< of each run; efficiencies are relative to the first
  bool weak = false;         ///< `images` for each rank instead of for all together
  Index images = 0;          ///< synthetic digits
  std::string launcher;
  std::optional<std::string> network;           ///< a network from files instead of the official one
  Index neurons = 0;                            ///< of the official network
  std::string layers;                           ///< of the official network, as given
  std::string reduce, device, variant, trials;  ///< as given
  std::optional<std::string> threads;           ///< as given
  bool share_devices = false;
  std::filesystem::path scratch;
  std::optional<std::string> json;  ///< `-`: stdout
};

/// Runs the problem on each number of ranks, one run after another, and prints a line for each immediately.
void run_scaling(const ScalingSpec& spec, const Print& print);

}  // namespace spdnn::bench
