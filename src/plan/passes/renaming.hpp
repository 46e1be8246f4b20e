#pragma once

#include <functional>
#include <span>

#include "spdnn/network.hpp"
#include "spdnn/plan.hpp"

namespace spdnn::planning {

/// Where the neurons of one given layer are stored: `map` holds, for each, its stored number, kAlwaysZero or
/// kNotComputed, as Plan::expansion does; an empty map is the identity.
struct Storage {
  Array<Index> map;
  Index count = 0;  ///< stored neurons

  bool identity() const { return map.empty(); }
};

/// Pieces worth making of work on so many entries: 1 when it is little or when a parallel region is entered already.
std::size_t useful_pieces(Offset entries);

/// Whether there are so many layers that all threads have their share of them.
bool enough_for_all_threads(std::size_t layers);

/// Calls work(k) for all layers: in parallel over layers where there are enough of them, else one after another, for
/// the work to be parallel within each.
void for_layers(std::size_t layers, const std::function<void(std::size_t)>& work);

/// Calls work(begin, end) in parallel on ranges of rows that hold nearly equal numbers of entries.
void for_row_ranges(const CsrMatrix& matrix, const std::function<void(Index begin, Index end)>& work);

/// What the weights of one row add up to.
struct RowSum {
  double sum = 0;
  double absolute = 0;  ///< of their absolute values
};
RowSum row_sum(const CsrMatrix& weights, Index row);

/// The rows named (ascending, distinct) of a layer, reading their inputs where `inputs` stores them: terms keep their
/// order, those with an input that is always zero are left out. Shares the storage of whatever stays as it is.
/// Cost: one pass over the entries of those rows.
Layer select_rows(const Layer& layer, std::span<const Index> rows, const Storage& inputs);

}  // namespace spdnn::planning
