#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "spdnn/csr_matrix.hpp"

namespace spdnn {

/// The bias of one layer: one number, or one number per output neuron. fp64, as the challenge's -0.3 is no fp32 number.
struct Bias {
  double uniform = 0.0;
  Array<double> values;  ///< outputs of the layer, or empty: every neuron has `uniform`

  double operator[](Index neuron) const { return values.empty() ? uniform : values[neuron]; }
  double min() const { return values.empty() ? uniform : *std::min_element(values.begin(), values.end()); }
  double max() const { return values.empty() ? uniform : *std::max_element(values.begin(), values.end()); }
};

/// One layer: the weights by output neuron. Row j of `weights` lists the inputs of output neuron j in the order in
/// which they are summed (ascending in the official data), so `weights` is the transpose of the challenge's W.
struct Layer {
  CsrMatrix weights;  ///< outputs x inputs
  Bias bias;

  Index inputs() const { return weights.cols; }
  Index outputs() const { return weights.rows; }
};

/// Where the bias is added: to the non-zeros of Y W (the challenge's rule), or everywhere (trained networks).
enum class BiasRule { non_zeros, everywhere };

/// A sparse network as given. For each layer, with Y (images x neurons):
///   Z = Y W; Z(i,j) += bias(j) according to the rule; Y = min(cap, max(0, Z)).
/// Weights are fp32 (rounded once, at reading), biases and cap fp64.
/// Source: Kepner et al., "Sparse Deep Neural Network Graph Challenge", HPEC 2019, section II.
struct Network {
  std::vector<Layer> layers;
  BiasRule bias_rule = BiasRule::non_zeros;
  std::optional<double> cap = 32.0;

  Index inputs() const { return layers.empty() ? 0 : layers.front().inputs(); }
  Index outputs() const { return layers.empty() ? 0 : layers.back().outputs(); }
  Offset edges() const;
  std::size_t bytes() const;

  /// Throws std::invalid_argument, naming the layer, if a matrix is malformed, neighbouring layers do not fit, a bias
  /// has the wrong length or is not finite, or the cap is not positive.
  void validate() const;
};

}  // namespace spdnn
