#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "report/run_line.hpp"

namespace spdnn {

/// How many times as fast as a library the layers of a table are by one variant at one sparsity of weights and input,
/// batch and number of threads, by one build on one machine.
struct ConvMean {
  const ConvLine* first = nullptr;  ///< of the layers
  std::string with;                 ///< the library, and its precision
  std::size_t layers = 0;
  double speed_up = 0;  ///< geometric mean
};
/// In the order of the lines.
std::vector<ConvMean> conv_means(const std::vector<ConvLine>& lines);

/// The share of zeros, of the weights or of the input, from which on a layer is as fast as a library in a precision,
/// between those that were measured.
struct ConvBreakEven {
  const ConvLine* first = nullptr;  ///< of the lines, which have equal shares of the other zeros
  std::string with;
  bool of_input = false;
  double least = 0;  ///< share of zeros, measured
  double most = 0;
  std::optional<double> zeros{};  ///< empty if it is slower at all of them, or faster at all
  bool faster = false;            ///< at the most zeros
};
/// Of layers with several sparsities: first those of the weights, then those of the input.
std::vector<ConvBreakEven> conv_break_evens(const std::vector<ConvLine>& lines);

}  // namespace spdnn
