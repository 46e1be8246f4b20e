#pragma once

#include <span>
#include <vector>

#include "model/operations/operations.hpp"

namespace spdnn {

// Bounds of the numbers of a node, derived from its weights and from bounds of its inputs, so that an engine need not
// check most of them for overflow: sum |w| X + |b| for a sum whose inputs are at most X, in any order of summation, and
// likewise for the other operations. The largest accepted number leaves a factor of two for roundings, which enlarge a
// sum of n terms by less than e^(2 n u), u = 2^-24.

/// Numbers up to this stay finite in fp32 and bf16, whatever their rounding errors.
inline constexpr double kLargestSafe = 0x1p127;
/// Values that engines check must be at most this, far above those of real networks; other values follow.
inline constexpr double kLargestTrusted = 0x1p80;

/// Magnitudes of a model's nodes. The constructor sums up the weights, in parallel. The model must outlive this.
class Magnitudes {
 public:
  explicit Magnitudes(const Model& model);

  /// The magnitude of a node whose inputs are at most `inputs` in absolute value, in their order.
  Magnitude of(Index node, std::span<const double> inputs) const;

 private:
  const Model& model_;
  std::vector<std::vector<double>> row_sums_;  ///< by node, of the absolute values of each row's weights
};

/// The largest absolute value.
double magnitude_of(const Tensor& constant);

}  // namespace spdnn
