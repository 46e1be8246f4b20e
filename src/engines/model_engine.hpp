#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "engines/support.hpp"
#include "spdnn/model.hpp"
#include "spdnn/outcome.hpp"

namespace spdnn {

/// Members that EngineOptions has, too, mean the same. A base of both would only hold these five, and aggregates with a
/// base cannot be initialized by the names of its members.
struct ModelEngineOptions {
  Precision precision = Precision::fp32;
  Index batch = 1;              ///< most images loaded at a time, for which memory is planned
  Index kernels_for = 0;        ///< number of images for which kernels are chosen; 0: `batch`
  int threads = 0;              ///< host threads; 0: all that the process may use
  int device = 0;               ///< index among the visible CUDA devices
  std::size_t host_memory = 0;  ///< limit of an engine on the CPU in bytes; 0: nine tenths of the available memory
  bool epilogues = true;        ///< nodes may be fused into the one before them; see Rewrites
  double compile_seconds = 60;  ///< that generating code for all nodes may take; 0: none is generated
  bool profile = false;         ///< enables node_seconds(); costs two clock readings per node
  /// Called before each node, on the calling thread; once it returns true, advance() throws Cancelled. May be empty.
  std::function<bool()> cancelled = {};

  Index images_for_kernels() const { return kernels_for == 0 ? batch : kernels_for; }
};

/// A model resident on a device; the counterpart of Engine for plans. Use: make, then per batch load(), then per trial
/// reset(), advance() until it returns the number of nodes, outputs(). The loop, timers and progress bar are outside.
class ModelEngine {
 public:
  virtual ~ModelEngine() = default;
  ModelEngine() = default;
  ModelEngine(const ModelEngine&) = delete;
  ModelEngine& operator=(const ModelEngine&) = delete;

  /// Makes a batch resident in place of the previous one, and allocates the memory for its run. Its shape is that of
  /// the model's input with a number of images in place of kBatchExtent: 1 to the options' batch, possibly different at
  /// each call. UsageError for another shape. The engine is then before node 0, as after reset(). The tensor's storage
  /// may be kept and is not written to. Timed as upload.
  virtual void load(const Tensor& images) = 0;
  /// Says which images load() will be given next, once advance() has been called for those before: an engine on a
  /// device may copy them beside its kernels. Whether they are loaded next, or others, results are the same.
  virtual void announce(const Tensor& /*images*/) {}
  /// Goes back before node 0; the loaded images stay. Timed with the nodes.
  virtual void reset() = 0;
  /// Computes nodes from `first` up to `until` (exclusive), at least one, and returns the next node to request, at most
  /// `until`. `first` is the previous call's result, 0 after load() and reset(). An engine may fuse nodes and defer
  /// them to a later call; on a device it may return before they are computed.
  virtual Index advance(Index first, Index until) = 0;
  /// The model's outputs, in its order, row-major. Waits for the device. Valid after advance() returned the number of
  /// nodes, until the next load() or reset(); the tensors themselves never change.
  virtual std::vector<Tensor> outputs() = 0;
  /// The only or the first output.
  Tensor output() { return outputs().front(); }
  /// The first node whose numbers, partial sums included, may have exceeded the precision since the last load() or
  /// reset(): activations and maxima hide that from the outputs. Engines check the magnitudes of just enough values to
  /// prove all others finite (model/graph/magnitudes.hpp), so that a node with values above 1e24 may be named
  /// needlessly. Empty if every number was finite. Valid when outputs() is.
  virtual std::optional<Index> overflow() const = 0;
  /// Seconds by node since the last reset() or load(). The time of fused nodes counts for the node into which they are
  /// fused; their own is 0. Empty without options.profile, or if the engine cannot time single nodes.
  virtual std::vector<double> node_seconds() const { return {}; }
  /// On how the engine was made ready, for people.
  virtual std::vector<std::string> notes() const { return {}; }
  /// The code that it generated, or found, for the full batch: as Model::code has it. Before the first load().
  virtual std::vector<StoredCode> code() const { return {}; }
};

/// A line of src/engines/model_variants.def.
struct ModelVariant {
  std::string_view name;
  Device device;
  std::string_view description;
  std::vector<Precision> precisions;  ///< supported; the first is the default
  /// May be called for any of the precisions, with or without a device. Shapes are inferred (infer_shapes()).
  Support (*support)(const Model&, const ModelEngineOptions&);
  /// For supported work only, with support()'s answer to it. The engine keeps the model alive.
  std::unique_ptr<ModelEngine> (*make)(std::shared_ptr<const Model>, const ModelEngineOptions&, const Support&);
};

/// The variants of this build, in the order of model_variants.def.
const std::vector<ModelVariant>& model_variants();
/// Throws UsageError that names the choices.
const ModelVariant& find_model_variant(std::string_view name);

/// The variant's answer, after checks of the precision and of features that no variant supports.
Support support_of(const ModelVariant& variant, const Model& model, const ModelEngineOptions& options);
/// An engine of the variant. UsageError if it does not support the work.
std::unique_ptr<ModelEngine> make_engine(const ModelVariant& variant, std::shared_ptr<const Model> model,
                                         const ModelEngineOptions& options);

/// For engines: UsageError if the tensor is not the model's input with 1 to `batch` images. Returns their number, 1 for
/// a model whose input has no kBatchExtent.
Index images_of(const Model& model, const Tensor& input, Index batch);

/// For engines, as a remark of their Support: adds the number of the model's zero weights, and of those that are
/// skipped, in the nodes `without_zeros`. Adds nothing if no weight is zero.
void add_zeros_remark(const Model& model, const std::vector<Index>& without_zeros, Support& support);

}  // namespace spdnn
