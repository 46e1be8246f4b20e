#pragma once

#include "cluster/communicator.hpp"
#include "spdnn/inference.hpp"
#include "spdnn/model_inference.hpp"

namespace spdnn {

/// Inferences on the ranks of a job, which all take the same steps: the first reads, plans and verifies, each runs its
/// own part of the images, and the first has the report. `ranks` must outlive the steps.
struct InferenceOnRanks : Inference {
  InferenceOnRanks(const InferenceSpec& spec, Communicator& ranks);
};
struct ModelInferenceOnRanks : ModelInference {
  ModelInferenceOnRanks(const ModelSpec& spec, Communicator& ranks);
};

}  // namespace spdnn
