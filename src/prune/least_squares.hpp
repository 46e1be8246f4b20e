#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "prune/samples.hpp"
#include "spdnn/csr_matrix.hpp"

namespace spdnn {

/// The normal equations of the filters of one group: with the samples' inputs X, to which a column of ones is appended
/// for the biases, and their targets y of a filter, the error of weights w is |y - X w|^2 = y'y - 2 (X'y)'w + w'(X'X)
/// w. X'X is fp32, cols^2 x 4 bytes; X is not kept.
class NormalEquations {
 public:
  NormalEquations(Index columns, Index filters, bool has_bias);

  void add(const Samples& samples);

  /// Weights of one filter: columns, which ascend, and values; with a bias, the last one is it and has column
  /// `columns`.
  struct Filter {
    std::vector<Index> columns;
    std::vector<double> values;
  };
  double error(Index filter, const Filter& weights) const;
  /// The sum of y'y.
  double squares(Index filter) const { return squares_[filter]; }

  /// The filter with the same columns and the values that minimise error + damping x |change|^2, by conjugate gradients
  /// (M. R. Hestenes & E. Stiefel 1952) that begin at the given ones. Damping is a hundredth of the mean square of an
  /// input, as SparseGPT has it (E. Frantar & D. Alistarh 2023), so that weights stay which the samples do not
  /// determine. The error never grows.
  Filter fitted(Index filter, const Filter& weights) const;

 private:
  std::size_t width_;  ///< columns, and one for the bias
  bool has_bias_;
  std::vector<float> gram_;      ///< X'X, width x width
  std::vector<float> cross_;     ///< X'y by column, then filter
  std::vector<double> squares_;  ///< y'y by filter
};

/// A layer whose remaining weights and biases were fitted to the targets.
struct Repaired {
  CsrMatrix weights;
  std::vector<float> bias;
  double error_before = 0;  ///< root of |y - X w|^2 / |y|^2, over all filters
  double error_after = 0;   ///< likewise; not larger
};

/// Fits all filters of a layer; `groups` has the equations of each group of channels. No weight becomes zero, and none
/// that was zero becomes another number. A filter without biases keeps none.
Repaired repaired(const CsrMatrix& weights, const std::vector<float>& bias, std::span<const NormalEquations> groups);

}  // namespace spdnn
