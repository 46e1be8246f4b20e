#pragma once

#include <span>

#include "core/types/plan.hpp"
#include "spdnn/network.hpp"

namespace spdnn::planning {

/// Where the neurons of one given layer are stored. For each neuron, `map` holds its stored number, kAlwaysZero or
/// kNotComputed, as Plan::expansion does. An empty map is the identity.
struct Storage {
  Array<Index> map;
  Index count = 0;  ///< stored neurons

  bool identity() const { return map.empty(); }
};

/// The layer made of the given rows (ascending, distinct), whose inputs are renamed to where `inputs` stores them.
/// Terms keep their order; those whose input is always zero are left out. Shares the storage of whatever stays as it
/// is. Cost: one pass over the entries of those rows.
Layer select_rows(const Layer& layer, std::span<const Index> rows, const Storage& inputs);

}  // namespace spdnn::planning
