#pragma once

#include <string_view>

#include "spdnn/model.hpp"
#include "spdnn/weights.hpp"

namespace spdnn {

/// The numbers that weights are rounded to.
struct Quantisation {
  enum class Kind {
    fp16,      ///< IEEE binary16, to nearest, ties to even
    int8,      ///< scale x q with |q| <= 127 and one scale for each output channel: its largest |w| / 127
    codebook,  ///< one of 2^bits numbers of the layer, the nearest, times the largest |w| of the output channel
  };
  Kind kind = Kind::fp16;
  int bits = 8;  ///< of a codebook: 4 to 8
};

/// `fp16`, `int8`, or `codebook4` to `codebook8`; UsageError otherwise.
Quantisation parse_quantisation(std::string_view text);

/// The rounded matrix, as CSR or dense, whichever takes fewer bytes in a packed file. Zeros stay zeros; a weight may
/// become zero. A codebook (S. Han et al. 2016; M. Pietron & D. Zurek, arXiv 2011.06295) is that of codebook.hpp, of
/// the weights divided by the largest of their row; with few different weights it has all of them, and no scales.
/// std::invalid_argument if a weight exceeds fp16.
TypedMatrix rounded(const CsrMatrix& weights, const Quantisation& quantisation);

/// How much all weights of a model changed.
struct QuantisationLoss {
  std::size_t nodes = 0;
  double change = 0;  ///< |rounded - given| / |given|, Euclidean, over all weights
  std::size_t bytes_before = 0;
  std::size_t bytes_after = 0;  ///< in memory, both
};
/// Rounds the weights of all nodes; biases and batch norms stay fp32. DataError, naming the node, if weights are
/// quantised already or exceed fp16.
QuantisationLoss quantise(Model& model, const Quantisation& quantisation);

/// DataError, naming the first node and `what` is refused, if weights of the model are integers or a palette, or values
/// are rounded to 8 bits (QuantisedValue).
void require_plain_weights(const Model& model, std::string_view what);

}  // namespace spdnn
