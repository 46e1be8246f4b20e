#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "spdnn/images.hpp"
#include "spdnn/model.hpp"
#include "spdnn/outcome.hpp"
#include "spdnn/planned_network.hpp"
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
/// with the same settings. A session runs one batch at a time; concurrent threads need a session each. Signal handlers
/// that may run meanwhile need SA_ONSTACK: run() gives its thread a stack for them if a kernel of oneDNN needs one.
class ModelSession {
 public:
  struct Answer {
    std::vector<Tensor> outputs;  ///< in the model's order, float32, row-major, the images on axis 0
    /// The first node, by name and operation, whose numbers may be outside the range of the precision; values that
    /// depend on it may be wrong. Empty: every number was finite.
    std::string overflow;
  };

  /// Rewrites the model, chooses the engine and compiles. std::invalid_argument if the model is invalid, DataError if
  /// it cannot be run, UsageError if the settings contradict it or one another, DeviceError if the machine lacks a
  /// resource. Kernels are chosen for `settings.batch` images at a time, by default 64, more small ones, or as many as
  /// fit into memory; for a model with a fixed number of images or a stored program, for that number.
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
  Index batch() const;            ///< images at a time, at most
  int threads() const;            ///< host threads of each run, at most
  int computing_threads() const;  ///< as many of them compute batch() images: fewer where nodes are small

 private:
  class Contents;
  std::unique_ptr<Contents> contents_;
};

/// The settings of a session of a network.
struct NetworkSessionSettings : EngineSettings {
  std::size_t device_memory = 0;  ///< limit of an engine on its CUDA device in bytes; 0: all free memory
  bool activations = false;       ///< keeps them in Outcome::activations; see InferenceSpec
};

/// A planned network that stays resident on its device, to find the categories of one set of images after another:
///
///   const NetworkSession session(PlannedNetwork(network, kExactPasses));
///   const Categories categories = session.run(images).categories;
///
/// It neither verifies nor reports, unlike Inference. Its outcomes are those of an Inference with the same settings.
/// The engine stays between runs. A run chooses and makes it anew if its images are of another kind than those before
/// (stored as bits, zeros and ones, values of which a sum may overflow), or if there are more of them than ever before
/// and settings and memory allow larger batches. A session runs one set of images at a time; concurrent threads need a
/// session each, which may share the planned network.
class NetworkSession {
 public:
  /// Chooses the engine for images of zeros and ones and, given `settings.batch`, makes it resident; otherwise the
  /// first run does, for as many images as it has or as fit into memory. UsageError if the settings contradict the
  /// network or one another, DeviceError if the machine lacks a resource.
  explicit NetworkSession(PlannedNetwork network, const NetworkSessionSettings& settings = {});
  NetworkSession(NetworkSession&&) noexcept;
  NetworkSession& operator=(NetworkSession&&) noexcept;
  ~NetworkSession();

  /// Runs any number of images. DataError if they are not as wide as the network, std::invalid_argument if they are
  /// invalid, UsageError if another thread is in run(). `cancelled` is called between batches, and by engines on the
  /// CPU between layers of a tile of images, on this thread; true ends the run with Cancelled.
  Outcome run(const ImageSet& images, const std::function<bool()>& cancelled = {}) const;

  const PlannedNetwork& network() const;
  const std::string& variant() const;  ///< of the last run
  Precision precision() const;         ///< likewise
  Index batch() const;                 ///< images at a time, at most; 0 before an engine is resident
  int threads() const;                 ///< host threads of each run

 private:
  class Contents;
  std::unique_ptr<Contents> contents_;
};

}  // namespace spdnn
