#pragma once

#include <functional>
#include <span>
#include <vector>

#include "spdnn/network.hpp"

namespace spdnn::planning {

// The pass `twins`: output neurons of a layer that read the same inputs with the same weights, in the same order, and
// have the same bias are one neuron, which is computed once.
//
// Why it is exact. Two such neurons run the same instructions on the same numbers, so they hold the same bits, in
// every precision, with or without fused multiply-add. By induction over the layers, the same is true of two neurons
// whose given inputs differ but are twins of one another, term by term: reading each input at its stored representative
// changes no operand. Hence the planner groups the rows of a layer after that renaming, and a row keeps its order and
// its repeats (two terms that come to name one representative stay two terms). A row with the same terms in another
// order is not a twin: its rounding may differ.
//
// In the literature this is exact lumping of the network (D. Ressi et al. 2022, arXiv 2209.07475), or a bisimulation
// (P. Prabhakar 2021, arXiv 2110.03726). Their versions add up weights and hold in real arithmetic; keeping the order
// makes it hold in floating point.
//
// Cost: one hash of each row and one full comparison with its representative; about 25 bytes of memory per row.

/// For every row, the lowest row that is equal to it bit for bit, which may be the row itself; an empty array when all
/// rows differ. Rows of equal hash are compared in full, so a collision costs time and never makes a result wrong.
/// `hash_mask` lets tests make hashes collide.
Array<Index> first_equal_rows(const Layer& layer, std::uint64_t hash_mask = ~std::uint64_t{0});

/// The same for each of several layers, on all cores.
std::vector<Array<Index>> first_equal_rows(std::span<const Layer> layers);

/// Finds the equal rows of several layers as the function above does, perhaps on a device. An empty TwinFinder means
/// that function.
using TwinFinder = std::function<std::vector<Array<Index>>(std::span<const Layer>)>;

}  // namespace spdnn::planning
