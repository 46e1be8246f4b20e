#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "program/kernel.hpp"

namespace spdnn::onednn {

/// Results of a node, one after another, and the offer to compute them.
struct Piece {
  program::Offer offer;
  std::size_t at;  ///< bytes of results before them
};

/// Ranges of nearly equal length for at most that many threads, in which results have the same bits as in one range.
std::vector<std::pair<Index, Index>> pieces_of(Index results, int threads);

/// The offer to compute all pieces on OpenMP's threads, each piece by one of them. Values that are added to the results
/// are split likewise. Empty if the pieces differ in what they do, or one of them cannot be computed.
std::optional<program::Offer> side_by_side(std::vector<Piece> pieces);

}  // namespace spdnn::onednn
