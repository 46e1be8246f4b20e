#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "spdnn/model.hpp"
#include "spdnn/rewrites.hpp"
#include "spdnn/run_settings.hpp"
#include "spdnn/tensor.hpp"

namespace spdnn {

/// A model that is compiled once and stays resident on its device, to answer batch after batch:
///
///   const ModelSession session(read_model("pruned.onnx"), {.batch = 8});
///   const Tensor logits = session.run(images).outputs.front();
///
/// It neither verifies nor reports: ModelInference does. Its answers are those of a ModelInference with the same
/// settings, bit for bit. Runs of one session exclude one another; threads that are to run at the same time take a
/// session each.
class ModelSession {
 public:
  struct Answer {
    std::vector<Tensor> outputs;  ///< in the model's order, float32, row-major, the images on axis 0
    /// The first node, by name and operation, whose numbers may have exceeded the precision: what depends on it may be
    /// wrong. Empty: every number was finite.
    std::string overflow;
  };

  /// Rewrites the model, chooses the engine and compiles. std::invalid_argument where the model is not valid, DataError
  /// where it cannot be run, UsageError where the settings do not fit it or one another, DeviceError where the machine
  /// lacks what they ask for. Kernels are chosen for `settings.batch` images at a time, by default 64 or as many as fit
  /// the memory; of a model for a fixed number of images, for that number.
  explicit ModelSession(Model model, const EngineSettings& settings = {}, const Rewrites& rewrites = kAllRewrites);
  ModelSession(ModelSession&&) noexcept;
  ModelSession& operator=(ModelSession&&) noexcept;
  ~ModelSession();

  /// Answers any number of images, at most batch() at a time. Their shape is that of the model's input with the number
  /// of images on axis 0; axes of length 1 may be left out. DataError where the shape is another or a number is not
  /// finite. UsageError where another thread is in run(). `cancelled` is asked between nodes, on this thread; true ends
  /// the run with Cancelled.
  Answer run(const Tensor& images, const std::function<bool()>& cancelled = {}) const;

  const Model& model() const;  ///< as it runs, rewritten; inputs and outputs have their names in the model given
  const std::string& variant() const;
  Precision precision() const;
  Index batch() const;  ///< images at a time, at most
  int threads() const;  ///< host threads of each run

 private:
  class Contents;
  std::unique_ptr<Contents> contents_;
};

}  // namespace spdnn
