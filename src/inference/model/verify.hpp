#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engines/model_engine.hpp"
#include "spdnn/model_report.hpp"
#include "spdnn/progress.hpp"
#include "spdnn/tensor.hpp"

namespace spdnn {

/// What logits are compared with, image by image, as the reference gets there.
struct LogitTruth {
  const Tensor* expected = nullptr;  ///< of the first images; null: none
  std::string expected_source;
  Index recomputed = 0;         ///< the first so many images are compared with the reference itself
  std::size_t host_memory = 0;  ///< bytes that the reference may take; 0: nine tenths of what is available
};

struct LogitChecks {
  std::optional<LogitCheck> expected;
  std::optional<LogitCheck> recomputed;
};

/// Compares the logits of a run of `model` on `images` with all that `truth` names. The reference (evaluate()) runs on
/// as many images as that takes, a few at a time; its bounds are the measure of both comparisons. `classes`: of the
/// model, 0 where its output is none. DeviceError where the reference has no memory for one image.
LogitChecks check_logits(const Model& model, const Tensor& images, const Tensor& logits, Index classes,
                         const LogitTruth& truth, const ProgressCallback& progress,
                         const std::function<bool()>& cancelled);

/// Runs the engine on the first `count` images once more, with every node's output kept, and compares each with what
/// the reference makes of the engine's own inputs to that node. Keeping them forbids engines to fuse nodes; `logits`,
/// those of the run that is reported, tell whether that changed a bit of the result.
NodeCheck check_nodes(const ModelVariant& variant, const Model& model, const Tensor& images, Index count,
                      const Tensor& logits, ModelEngineOptions options, const ProgressCallback& progress);

}  // namespace spdnn
