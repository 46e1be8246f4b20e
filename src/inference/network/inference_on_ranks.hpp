#pragma once

#include "cluster/communicator.hpp"
#include "spdnn/inference.hpp"

namespace spdnn {

/// An inference on the ranks of a job, which all take the same steps: the first reads, plans and verifies, each runs
/// its own part of the images, and the first has the report.
class InferenceOnRanks : public Inference {
 public:
  /// `ranks` must outlive the steps.
  InferenceOnRanks(InferenceSpec spec, Communicator& ranks);
};

}  // namespace spdnn
