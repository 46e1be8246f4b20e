#pragma once

#include <map>

#include "program/choose.hpp"
#include "program/compile.hpp"
#include "spdnn/model.hpp"

namespace spdnn::program {

/// The cheapest path through the steps of a model.
struct Path {
  std::map<Index, Wanted> offers;  ///< by the first node of each step
  double seconds = 0;              ///< predicted, changes of layout included
};

/// The path with the least sum of the seconds that kernels predict, changes of layout included. Dynamic programming
/// over the steps in their order: a state is the set of layouts of each value that is still to be read, and of the
/// paths to one state the cheapest is kept. Exact for at most kMostStates states, as in every chain, where one value is
/// still to be read; where branches join in more, those that are the cheapest so far go on. Of equals, the kernel
/// listed first wins. UsageError where no kernel supports a node.
Path cheapest_path(const Model& model, Extent images, const CompileOptions& options);

inline constexpr std::size_t kMostStates = 6;

}  // namespace spdnn::program
