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

struct ModelEngineOptions {
  Precision precision = Precision::fp32;
  Index batch = 1;              ///< images loaded at a time, at most: what memory is told for
  Index kernels_for = 0;        ///< images at a time that kernels are chosen for; 0: `batch`
  int threads = 0;              ///< host threads; 0: as many as the process may use
  int device = 0;               ///< which of the visible CUDA devices
  std::size_t host_memory = 0;  ///< bytes an engine on the CPU may take; 0: nine tenths of what is available
  bool epilogues = true;        ///< see Rewrites: nodes may be computed with the one before them
  bool profile = false;         ///< node_seconds() is asked for; costs two looks at the clock per node
  /// Whether the run is to end before its time. Engines ask before each node, on the thread that calls, and advance()
  /// ends with Cancelled once the answer is yes. Empty: never.
  std::function<bool()> cancelled = {};

  Index images_for_kernels() const { return kernels_for == 0 ? batch : kernels_for; }
};

/// One model resident on one device, as Engine is for a plan. Use: make, then per batch load(), then per trial reset(),
/// advance() until it returns the number of nodes, outputs(). The loop, the timers and the progress bar are outside.
class ModelEngine {
 public:
  virtual ~ModelEngine() = default;
  ModelEngine() = default;
  ModelEngine(const ModelEngine&) = delete;
  ModelEngine& operator=(const ModelEngine&) = delete;

  /// Makes a batch resident, in place of the earlier one, and takes what memory its run needs. Its shape is that of the
  /// model's input, with a number of images in place of kBatchExtent: any number from 1 to the options' batch, another
  /// one each time if need be. UsageError where the shape is another. The engine is then before node 0, as after
  /// reset(). The tensor's storage may be kept and is not written to. Timed as upload.
  virtual void load(const Tensor& images) = 0;
  /// Back before node 0; the loaded images stay. Timed with the nodes.
  virtual void reset() = 0;
  /// Takes nodes first, first+1, ... below `until` on, at least one, and returns the next node to ask for, at most
  /// `until`. `first` is what the call before returned, 0 after load() and reset(). An engine may fuse nodes, and put
  /// them off to a later call that asks for more; on a device it may return before they are computed.
  virtual Index advance(Index first, Index until) = 0;
  /// The model's outputs, in its order, row-major. Waits for the device. Valid after advance() returned the number of
  /// nodes, and until the next load() or reset(); the tensors themselves stay as they are for good.
  virtual std::vector<Tensor> outputs() = 0;
  /// Of a model with one output, or the first of several.
  Tensor output() { return outputs().front(); }
  /// The first node whose numbers, parts of sums included, may have exceeded those of the precision since the last
  /// load() or reset(): activations and maxima hide that from the outputs. Engines look at the magnitudes of as few
  /// values as prove all others finite (model/graph/magnitudes.hpp), so that one above 1e24 may be named without need.
  /// Nothing where every number is sure to have been finite. Valid as outputs() is.
  virtual std::optional<Index> overflow() const = 0;
  /// By node, the seconds that it took since the last reset() or load(). What is fused with a node's work counts there,
  /// and 0 for the others. Empty where options.profile is off, or where the engine cannot tell nodes apart.
  virtual std::vector<double> node_seconds() const { return {}; }
};

/// A line of src/engines/model_variants.def.
struct ModelVariant {
  std::string_view name;
  Device device;
  std::string_view description;
  std::vector<Precision> precisions;  ///< supported; the first is the default
  /// May be asked for any of the precisions, whether or not there is a device. Shapes are inferred (infer_shapes()).
  Support (*support)(const Model&, const ModelEngineOptions&);
  /// For what support() takes. The engine keeps the model alive.
  std::unique_ptr<ModelEngine> (*make)(std::shared_ptr<const Model>, const ModelEngineOptions&);
};

/// The variants of this build, in the order of model_variants.def.
const std::vector<ModelVariant>& model_variants();
/// Throws UsageError naming the choices.
const ModelVariant& find_model_variant(std::string_view name);

/// What the variant says, the precision and what no variant takes included.
Support support_of(const ModelVariant& variant, const Model& model, const ModelEngineOptions& options);
/// An engine of the variant. UsageError where it does not support what is asked for.
std::unique_ptr<ModelEngine> make_engine(const ModelVariant& variant, std::shared_ptr<const Model> model,
                                         const ModelEngineOptions& options);

}  // namespace spdnn
