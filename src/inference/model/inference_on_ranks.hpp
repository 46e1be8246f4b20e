#pragma once

#include "cluster/communicator.hpp"
#include "spdnn/model_inference.hpp"

namespace spdnn {

/// An inference of a model on the ranks of a job, which all take the same steps: the first reads, plans and verifies,
/// each runs its own part of the images, and the first has the report.
class ModelInferenceOnRanks : public ModelInference {
 public:
  /// `ranks` must outlive the steps.
  ModelInferenceOnRanks(ModelSpec spec, Communicator& ranks);
};

}  // namespace spdnn
