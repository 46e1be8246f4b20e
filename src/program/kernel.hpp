#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/graph/quantised.hpp"
#include "program/layout.hpp"
#include "program/steps.hpp"
#include "spdnn/model.hpp"

namespace spdnn {
class KnownWholeWeights;
}

namespace spdnn::program {

/// Addresses of a step's operands. All except the model's input are fixed while a program is bound.
struct Operands {
  std::vector<const std::byte*> inputs;  ///< in the order of Offer::inputs
  std::byte* output = nullptr;
  std::byte* scratch = nullptr;
  std::vector<const std::byte*> constants;  ///< in the order of Offer::constants
  bool first_input_is_older = false;        ///< than the action before, whose results the other inputs may be

  const float* floats(std::size_t input) const { return reinterpret_cast<const float*>(inputs[input]); }
  float* results() const { return reinterpret_cast<float*>(output); }
  const float* constant(std::size_t number) const { return reinterpret_cast<const float*>(constants[number]); }
};

/// The outcome of preparing a kernel that consists of code for its step.
struct Prepared {
  std::string remark{};  ///< a failure and its consequence; empty if there was none
  /// Where its code is from. It is distrusted: a kernel that was not compiled now has been tested as one that was.
  enum class Source { compiled, cache_directory, model };
  std::size_t code_bytes = 0;  ///< 0: it consists of none
  Source source = Source::compiled;
  double compile_seconds = 0;     ///< processor time
  bool model_has_others = false;  ///< the model has code, but for other devices, batches, generators or compilers
  Extent model_images = 0;        ///< then the batch of its program; 0: unknown
};

/// A summary of several kernels, for people; empty if none has code.
std::string text(const std::vector<Prepared>& all);

/// A kernel that is ready for one step of one program.
class Bound {
 public:
  virtual ~Bound() = default;
  Bound() = default;
  Bound(const Bound&) = delete;
  Bound& operator=(const Bound&) = delete;

  /// Sets the operands' addresses: before the first run, and again when the model's input moves.
  virtual void place(const Operands& operands) = 0;
  /// Completes what bind() may have begun on other threads: once, after all steps are bound and placed. May overwrite
  /// the inputs and the output, which hold nothing yet.
  virtual Prepared prepare() { return {}; }
  /// Prepares runs on OpenMP's current number of threads, where they would otherwise be on that of bind(): after all
  /// steps are bound and placed, any number of times. Every run computes the same bits.
  virtual void follow_threads() {}
  /// The code that prepare() has made or found, to be stored with the model; empty if there is none.
  virtual std::optional<StoredCode> code() const { return std::nullopt; }
  /// Computes every byte of the output, with zeros in the padding of channel blocks. On OpenMP's threads, or after what
  /// was given to the device before; then it may return before that is done, unless the output is in host memory.
  virtual void run() = 0;
  /// Whether run() only starts kernels on a device, in a form that Target::recorded() can record.
  virtual bool can_be_recorded() const { return true; }
};

/// One that calls a function with its operands.
std::unique_ptr<Bound> bound(std::function<void(const Operands&)> run);

/// A kernel's data derived from the model, for example reordered weights.
struct Constant {
  int part = 0;      ///< which of the node's
  std::string form;  ///< constants of one node, part and form are made once, for all programs of an engine
  std::size_t bytes = 0;
  std::function<void(std::byte* to)> fill;
  bool on_device = false;  ///< filled in host memory, then copied
};

/// A value that a step reads.
struct Input {
  ValueId value = 0;
  Shape shape;
  std::vector<Layout> layouts;      ///< in which it exists; the first is the one in which it was made
  std::optional<ByteForm> bytes{};  ///< its 8-bit form, in which it may lie, if it is quantised
};

/// A request to kernels: a step for one number of images.
struct Request {
  const Model& model;  ///< outlives all results of the request
  Step step;
  Extent images = 1;
  Extent kernels_for = 1;                ///< images that kernels are chosen for: those of the whole batch
  ElementType type = ElementType::fp32;  ///< of activations between nodes
  int threads = 1;                       ///< of OpenMP
  double compile_seconds = 0;            ///< that generating code may take, of all steps together
  /// Kernels offer each division of the work that may be the fastest, to be measured or to find one again; otherwise
  /// the one that is predicted to be.
  bool every_tiling = false;
  std::vector<std::string> without{};  ///< parts of kernels that a measurement leaves out, to see their worth
  std::vector<Input> inputs;           ///< of the step's first node, then of each addition that is fused
  std::optional<ByteForm> bytes{};     ///< likewise of the result
  KnownWholeWeights* known = nullptr;  ///< of the model, if there are more requests
  const Node& node() const { return model.nodes[step.node]; }
  std::size_t own_inputs() const { return node().inputs.size(); }
  Shape output_shape() const { return with_batch(model.values[model.nodes[step.last()].output].shape, images); }
};

/// Of Offer::terms_in_fp16: all, and the bias after them.
inline constexpr Index kAllTerms = std::numeric_limits<Index>::max();

/// A kernel's proposal for a request. A kernel may make several offers with different layouts.
struct Offer {
  std::string why_not{};         ///< a kernel of the operation that does not take this node says why
  std::string detail{};          ///< the implementation, for people
  std::string remark{};          ///< if the choice depends on the weights: the kernel and the reason
  std::vector<Layout> inputs{};  ///< of Request::inputs; the node's own alone, unless `fused`
  Layout output{};
  bool fused = false;        ///< does the nodes that are fused as well, all of them; otherwise they follow one by one
  bool skips_zeros = false;  ///< multiplies no weight that is zero
  Index terms_in_fp16 = 0;   ///< products that are added in fp16 before their sum is added in fp32; 0: none are
  std::size_t scratch = 0;   ///< bytes
  bool scratch_on_device = false;
  std::vector<Constant> constants{};
  double seconds = 0;  ///< predicted
  std::function<std::unique_ptr<Bound>()> bind{};

  bool takes() const { return why_not.empty(); }
};

/// A tensor that is to be had in another layout.
struct Change {
  Shape shape;
  Layout from;
  Layout to;
  int threads = 1;
  std::optional<ByteForm> bytes{};  ///< of the side that is in 8 bits
};

/// One way of computing operations of some kind. Kernels have no state.
class Kernel {
 public:
  virtual ~Kernel() = default;
  Kernel() = default;
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  virtual std::string_view name() const = 0;
  /// Empty for operations of other kernels. Makes no constants, and is cheap compared with a run.
  virtual std::vector<Offer> offers(const Request& /*request*/) const { return {}; }
  /// A change of layout is an operation as well, of kernels that have it.
  virtual Offer change(const Change& /*change*/) const { return {.why_not = "changes no layouts"}; }
};

/// The kernels to choose from; among equally fast ones the first is preferred.
using Kernels = std::vector<const Kernel*>;

/// The error in an offer: a number of layouts that differs from that of the inputs, or a layout that the tensor cannot
/// have. Empty if there is none.
std::string why_unsound(const Request& request, const Offer& offer);

}  // namespace spdnn::program
