#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/conv_tables.hpp"
#include "bench/timed_runs.hpp"
#include "core/text/json.hpp"
#include "spdnn/outcome.hpp"
#include "spdnn/types.hpp"

namespace spdnn::bench {

/// One measurement of a layer.
struct ConvCase {
  std::string table;
  ConvLayer layer;
  double sparsity = 0.9;      ///< share of zeros among the weights, of layers that are pruned
  double input_sparsity = 0;  ///< of the input: see fill_images()
  Index batch = 1;
  int threads = 1;
  Device device = Device::cpu;
};

/// A kernel that ours are compared with: a key of `with` in the JSON lines, and its kind.
struct ConvRival {
  std::string key;
  std::string family;  ///< of src/engines/kernels.def
  std::string library;
  Precision precision = Precision::fp32;
  bool ours = false;     ///< has lines of its own as well, without this rival
  bool whole = false;    ///< in int8: bytes times weights of 8 bits, to results of fp32
  bool grouped = false;  ///< with weights stored as 2:4

  std::string_view number() const { return whole ? "int8" : to_string(precision); }
};
/// On the CPU oneDNN, on a GPU our conv_direct, cuSPARSE and cuSPARSELt on the unfolded input, and cuDNN; in each of
/// their precisions.
const std::vector<ConvRival>& conv_rivals(Device device);
/// Why rivals are missing on this machine, or from layers that they would not compute exactly: one line each.
std::vector<std::string> absent_rivals(Device device);

/// A kernel with its times.
struct TimedKernel {
  std::string kernel;
  std::string detail;
  double predicted = 0;  ///< seconds, by which the planner compares kernels; of a rival on a GPU, measured
  double deviation = 0;  ///< see sampled_ratio()
  TimedRuns times{};
};

/// A rival on the same layer, timed in turns with ours.
struct ConvPeer {
  const ConvRival* rival = nullptr;
  TimedKernel timed{};
  Spread ratio{};  ///< over the turns: our shortest run / its shortest
};

struct ConvTiming {
  double multiply_adds = 0;  ///< with all weights
  double kept = 1;           ///< share of the weights that are not zero
  double bytes = 0;          ///< least traffic: images, results, and weights that are not zero, once
  std::string variant;       ///< that offers the kernel; or a family that computes in int8
  bool whole = false;        ///< ours is in int8
  TimedKernel ours{};
  double load = 0;               ///< see machine_load()
  std::vector<ConvPeer> with{};  ///< the rivals that there are
  std::string not_grouped{};     ///< why a rival that takes weights stored as 2:4 does not take this layer
};

/// Which of our kernels and rivals are timed, by variant and by key; none given: all. conv_generated is also timed
/// without each of the parts that are to be left out: the variant is then "conv_generated without PART".
struct ConvSides {
  std::optional<std::vector<std::string>> kernels{};
  std::optional<std::vector<std::string>> with{};
  std::vector<std::string> left_out{};
};
/// The parts that may be left out.
inline constexpr const char* kConvParts[] = {"hints", "polling", "persistence"};
/// The variants that our kernels may have.
std::vector<std::string> conv_variants(Device device);

/// Times our kernels and their rivals on one convolution, each in its own layouts: no tensor changes its layout. On the
/// CPU ours is the kernel in fp32 that is predicted to be the fastest, and the one in int8; on a GPU there is one for
/// each family that has any. In int8, images are bytes, weights those of the others rounded, and results fp32. A family
/// that takes nothing but convolutions with ReLU and maxima of 2 x 2 is timed with those. Weights are random, as of
/// generate_model(). Convolutions have a bias, but on a GPU, where no algorithm of cuDNN could add it at no cost.
/// DeviceError if memory is short, or if the device cannot be used.
std::vector<ConvTiming> time_conv(const ConvCase& one, const ConvSides& sides, const RunLimits& limits);

/// Kernels with an output outside of their bound, one line each.
struct BeyondBounds {
  std::string text{};
  bool ours = false;  ///< one of them is ours, not a library's
};
void add_beyond_bounds(const ConvCase& one, const ConvTiming& timing, BeyondBounds& beyond);

/// A line of the table, after the one with its titles.
std::string conv_titles(Device device);
std::string conv_text(const ConvCase& one, const ConvTiming& timing);
Json conv_json(const ConvCase& one, const ConvTiming& timing);

}  // namespace spdnn::bench
