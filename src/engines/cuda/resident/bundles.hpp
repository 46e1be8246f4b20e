#pragma once

// The bundles of one layer of the `resident` engine: the neurons that a warp computes together, and the terms of their
// sums in the order of reading; see layout.hpp.

#include <cstdint>
#include <span>
#include <vector>

#include "engines/cuda/resident/layout.hpp"
#include "engines/cuda/resident/scheduler.hpp"

namespace spdnn {

/// Neurons that a warp computes together.
struct Bundle {
  std::vector<Index> neurons;
  std::vector<Terms> terms;  ///< equally long
  Index halves = 0;          ///< half chunks in the chunk stream, filled up to whole ones
  Index pairs = 0;           ///< of an alternating bundle

  Index chunks() const { return (halves + 1) / 2; }
};

/// A warp's work in a layer, round by round: one bundle, or the pieces of a split round.
using WarpBundles = std::vector<std::vector<Bundle>>;

/// The bundles of layer `number` by warp. `replicas`: the second slots of the layer's inputs. `layout`: shape, values,
/// zero slot and the form of the inputs are known.
std::vector<WarpBundles> make_bundles(const Plan& plan, const ResidentLayout& layout, Index number,
                                      std::span<const std::uint16_t> replicas, bool may_split);

}  // namespace spdnn
