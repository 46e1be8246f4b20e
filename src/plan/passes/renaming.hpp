#pragma once

#include <span>

#include "core/types/plan.hpp"
#include "spdnn/network.hpp"

namespace spdnn::planning {

/// The stored numbers of the neurons of one given layer. For each neuron, `map` holds its stored number, kAlwaysZero or
/// kNotComputed, as Plan::expansion does. An empty map is the identity.
struct Storage {
  Array<Index> map;
  Index count = 0;  ///< stored neurons

  bool identity() const { return map.empty(); }
};

/// The layer made of the given rows (ascending, distinct), whose inputs are renamed to their stored numbers in
/// `inputs`. Terms keep their order; those whose input is always zero are removed. Shares the storage of unchanged
/// arrays. Cost: one pass over the entries of those rows.
Layer select_rows(const Layer& layer, std::span<const Index> rows, const Storage& inputs);

}  // namespace spdnn::planning
