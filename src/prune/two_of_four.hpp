#pragma once

#include <cstddef>
#include <string>

#include "spdnn/model.hpp"

namespace spdnn {

/// What became of a model's weights.
struct TwoOfFourForm {
  std::size_t nodes = 0;         ///< that have the form now
  std::size_t ordered = 0;       ///< of these, with an order of their channels
  std::size_t few = 0;           ///< that stay as they were: their filters have fewer than kFewWeights weights
  std::size_t crowded = 0;       ///< that stay as they were: more than a quarter of their weights would not fit
  std::string most_crowded{};    ///< of the latter, the node with the most of those, and its worst rows
  std::size_t bytes_before = 0;  ///< of those that have the form, in memory
  std::size_t bytes_after = 0;
  Offset weights = 0;   ///< non-zeros of those that have the form
  Offset rest = 0;      ///< of these, stored as CSR
  std::string worst{};  ///< the node with the largest share of those, and its worst rows
};

/// Stores weights in groups of four neighbouring input channels with at most two non-zeros each (TypedMatrix), as fp32:
/// exact. Where the channels do not fit as they are, each tap gets an order of them (channel_order()), and what does
/// not fit then is stored as CSR. DataError, naming a node and its worst rows, if all nodes would stay as they were.
TwoOfFourForm store_two_of_four(Model& model);

}  // namespace spdnn
