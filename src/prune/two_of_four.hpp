#pragma once

#include <cstddef>

#include "spdnn/model.hpp"

namespace spdnn {

/// What became of a model's weights.
struct TwoOfFourForm {
  std::size_t nodes = 0;         ///< that have the form now
  std::size_t left = 0;          ///< that have not, as their filters have fewer than kFewWeights weights
  std::size_t bytes_before = 0;  ///< of the former, in memory
  std::size_t bytes_after = 0;
};

/// Stores the weights of all other nodes in groups of four neighbouring input channels with at most two non-zeros each
/// (TypedMatrix), as fp32: exact. DataError, naming the node and its worst rows, if one does not fit; the model is then
/// as it was.
TwoOfFourForm store_two_of_four(Model& model);

}  // namespace spdnn
