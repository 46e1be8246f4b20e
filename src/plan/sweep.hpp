#pragma once

#include <vector>

#include "core/types/plan.hpp"
#include "plan/passes/renaming.hpp"
#include "plan/passes/twins.hpp"

namespace spdnn::planning {

/// Applies plan.passes.twins and plan.passes.unused to a network, which it takes some layers at a time. A forward sweep
/// renames the inputs of each layer's rows to the stored ones, removes inputs that are always zero and groups twins;
/// the layers that come together are processed in parallel as long as `find_twins` finds all twins in the rows as
/// given. A backward sweep over the stored layers then drops neurons that nothing reads. Cost: each given edge is read
/// once or twice; memory beyond the given layers is that of the stored rows, and one number per given neuron.
class Sweep {
 public:
  /// `plan` has the passes and the rule, but no layers. Fills in its layers and expansion.
  Sweep(Plan& plan, const TwinFinder& find_twins) : plan_(plan), find_twins_(find_twins) {}
  /// The next layers as given. One that stays as it is goes on sharing their storage.
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
