#pragma once

#include "spdnn/inference.hpp"
#include "spdnn/model_inference.hpp"

namespace spdnn::testing {

/// The report of an inference of data in memory, not verified.
inline Report report_of(const InferenceSpec& spec, const Network& network, const ImageSet& images) {
  Inference inference(spec);
  inference.load(network, images);
  inference.plan();
  inference.run();
  return inference.report();
}
inline ModelReport report_of(const ModelSpec& spec, const Model& model, const Tensor& images) {
  ModelInference inference(spec);
  inference.load(model, images);
  inference.plan();
  inference.run();
  return inference.report();
}

}  // namespace spdnn::testing
