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
/// It neither verifies nor reports, unlike ModelInference. Its answers are bit-identical to those of a ModelInference
/// with the same settings. A session runs one batch at a time; concurrent threads need a session each.
class ModelSession {
 public:
  struct Answer {
    std::vector<Tensor> outputs;  ///< in the model's order, float32, row-major, the images on axis 0
    /// The first node, by name and operation, whose numbers may have exceeded the precision; values that depend on it
    /// may be wrong. Empty: every number was finite.
    std::string overflow;
  };

  /// Rewrites the model, chooses the engine and compiles. std::invalid_argument if the model is invalid, DataError if
  /// it cannot be run, UsageError if the settings contradict it or one another, DeviceError if the machine lacks a
  /// resource. Kernels are chosen for `settings.batch` images at a time, by default 64 or as many as fit into memory;
  /// for a model with a fixed number of images, for that number.
  explicit ModelSession(Model model, const EngineSettings& settings = {}, const Rewrites& rewrites = kAllRewrites);
  ModelSession(ModelSession&&) noexcept;
  ModelSession& operator=(ModelSession&&) noexcept;
  ~ModelSession();

  /// Answers any number of images, at most batch() at a time. Their shape is that of the model's input with the number
  /// of images on axis 0; axes of length 1 may be left out. DataError if the shape does not fit or a number is not
  /// finite. UsageError if another thread is in run(). `cancelled` is called between nodes, on this thread; true ends
  /// the run with Cancelled.
  Answer run(const Tensor& images, const std::function<bool()>& cancelled = {}) const;

  const Model& model() const;  ///< after the rewrites; inputs and outputs keep their names
  const std::string& variant() const;
  Precision precision() const;
  Index batch() const;  ///< images at a time, at most
  int threads() const;  ///< host threads of each run

 private:
  class Contents;
  std::unique_ptr<Contents> contents_;
};

}  // namespace spdnn
