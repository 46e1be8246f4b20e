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

/// The truth for outputs, compared image by image as the reference proceeds.
struct LogitTruth {
  std::vector<Tensor> expected{};  ///< of each output, for the first images, as many of each; empty: none
  std::string expected_source;
  Index recomputed = 0;         ///< number of images, from the first, that the reference recomputes
  std::size_t host_memory = 0;  ///< limit of the reference in bytes; 0: nine tenths of the available memory
};

struct LogitChecks {
  std::optional<LogitCheck> expected;
  std::optional<LogitCheck> recomputed;
};

/// Compares the outputs of a run of `model` on `images` with the whole `truth`. The reference (evaluate()) runs on the
/// images needed, a few at a time; both comparisons use its bounds. `classes`: of the first output, 0 if it is not
/// a list of classes. DeviceError if the reference lacks memory for one image.
LogitChecks check_logits(const Model& model, const Tensor& images, const std::vector<ModelOutput>& outputs,
                         Index classes, const LogitTruth& truth, const ProgressCallback& progress,
                         const std::function<bool()>& cancelled);

/// Runs the engine on the first `count` images again with every node's output kept, and compares each output with the
/// reference's for the engine's own inputs to that node. Keeping outputs prevents fusion; `given`, those of the
/// reported run, show whether that changed the result.
NodeCheck check_nodes(const ModelVariant& variant, const Model& model, const Tensor& images, Index count,
                      const std::vector<ModelOutput>& given, ModelEngineOptions options,
                      const ProgressCallback& progress);

/// The verdict of all comparisons: failed if one failed, otherwise passed if a comparison of all images passed and no
/// number may have overflowed. A sample proves nothing about the other images: as with networks, it fails or leaves the
/// run unverified.
Judgement verdict_of(const ModelReport& report);

}  // namespace spdnn
