#pragma once

#include <vector>

#include "core/types/plan.hpp"
#include "plan/passes/renaming.hpp"
#include "plan/passes/twins.hpp"

namespace spdnn::planning {

/// Applies plan.passes.twins and plan.passes.unused to a network that is given in pieces of some layers. A forward
/// sweep renames the inputs of each layer's rows to the stored ones, removes inputs that are always zero and groups
/// twins; the layers of a piece are processed in parallel as long as `find_twins` finds all twins in the rows as given.
/// A backward sweep over the stored layers then drops neurons that nothing reads. Cost: each given edge is read once or
/// twice; memory beyond the given layers is that of the stored rows, and one number per given neuron.
class Sweep {
 public:
  /// `plan` has the passes and the rule, but no layers. Fills in its layers and expansion.
  Sweep(Plan& plan, const TwinFinder& find_twins) : plan_(plan), find_twins_(find_twins) {}
  /// Adds the next layers as given. Layers that stay as they are share the storage of the given ones.
  void take(const std::vector<Layer>& given);
  /// After the last layers.
  void end();

 private:
  std::vector<Storage> group_as_given(const std::vector<Layer>& given) const;

  Plan& plan_;
  const TwinFinder& find_twins_;
  Storage inputs_;  ///< of the next layer
};

}  // namespace spdnn::planning
