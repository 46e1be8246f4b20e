#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/conv_tables.hpp"
#include "bench/timed_runs.hpp"
#include "spdnn/types.hpp"

namespace spdnn::bench {

/// One measurement of a layer.
struct ConvCase {
  std::string table;
  ConvLayer layer;
  double sparsity = 0.9;  ///< share of zeros among the weights, of layers that are pruned
  Index batch = 1;
  int threads = 1;
};

/// oneDNN on the same layer, timed in turns with ours.
struct ConvPeer {
  Precision precision = Precision::fp32;
  std::string kernel;
  std::string detail;
  double predicted = 0;  ///< seconds, by which the planner compares kernels
  TimedRuns times{};
  Spread ratio{};  ///< over the turns: our median / its median
};

struct ConvTiming {
  double multiply_adds = 0;  ///< with all weights
  double kept = 1;           ///< share of the weights that are not zero
  double bytes = 0;          ///< least traffic: images, results, and weights that are not zero, once
  std::string kernel;        ///< ours
  std::string detail;
  double predicted = 0;  ///< see ConvPeer
  TimedRuns times;
  double load = 0;               ///< see machine_load()
  std::vector<ConvPeer> with{};  ///< in fp32, and in bf16 where the processor has it; empty without oneDNN
};

/// Times our kernel that is predicted to be the fastest and oneDNN's on one convolution with a bias, each in its own
/// layouts: no tensor changes its layout. Weights are random, as of generate_model(). DeviceError if memory is short.
ConvTiming time_conv(const ConvCase& one, const RunLimits& limits);

/// A line of the table, after the one with its titles.
std::string conv_titles();
std::string conv_text(const ConvCase& one, const ConvTiming& timing);
nlohmann::ordered_json conv_json(const ConvCase& one, const ConvTiming& timing);

}  // namespace spdnn::bench
