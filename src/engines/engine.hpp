#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "core/types/plan.hpp"
#include "engines/support.hpp"
#include "spdnn/images.hpp"
#include "spdnn/outcome.hpp"

namespace spdnn {

struct EngineOptions {
  Precision precision = Precision::fp32;
  int threads = 0;                ///< host threads; 0: all that the process may use
  int device = 0;                 ///< index among the visible CUDA devices
  std::size_t host_memory = 0;    ///< limit of an engine on the CPU in bytes; 0: nine tenths of the available memory
  std::size_t device_memory = 0;  ///< limit of an engine on its CUDA device in bytes; 0: all free memory
  int sharers = 1;                ///< processes that share the device's memory evenly, including this one
  bool in_steps = false;          ///< advance() may be called for a few layers at a time
  bool may_overflow = false;      ///< sums may exceed the precision: the engine records images and layers
  /// Called repeatedly by engines on the CPU, on the thread that loaded the images; once it returns true, advance()
  /// throws Cancelled. May be empty.
  std::function<bool()> cancelled = {};
};

/// The state of a loaded image. An image whose row equals another's from some layer on points to it; chains end at an
/// image that is not a duplicate.
struct ImageState {
  enum class Kind : std::uint8_t { undecided, dead, saturated, duplicate, borderline };
  Kind kind = Kind::undecided;
  Index duplicate_of = 0;  ///< the image whose row it shares (Kind::duplicate)
};

/// Facts about the images before they are loaded.
struct BatchInfo {
  Index images = 0;     ///< loaded at a time, for which memory is planned
  bool binary = false;  ///< no value but 0 and 1
  bool bits = false;    ///< held as bits (binary, then)
};
BatchInfo batch_info(const ImageSet& images);

/// A plan resident on a device. Use: make, then per batch load(), then per trial reset(), advance() until it returns
/// plan.depth(), outcome(). The loop, timers and progress bar are outside, shared by all variants.
class Engine {
 public:
  virtual ~Engine() = default;
  Engine() = default;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Makes a batch of images resident in the engine's own form, in place of the previous one, and allocates the memory
  /// for its run. The engine is then before layer 0, as after reset(). The caller ensures that the images match the
  /// plan and the BatchInfo; the ImageSet may be destroyed afterwards. Timed as upload.
  virtual void load(const ImageSet& images) = 0;
  /// Goes back before layer 0 with every loaded image undecided. Timed with the layers, as most engines expand the
  /// resident images into activations again: at most one pass over images x neurons. May return before a device is
  /// done.
  virtual void reset() = 0;
  /// Computes layers from `first` up to `until` (exclusive), at least one, and returns the next layer to request, at
  /// most `until`. `first` is the previous call's result, 0 after load() and reset(). An engine may fuse layers; on a
  /// device it may return before they are computed, and defer them to a later call.
  virtual Index advance(Index first, Index until) = 0;
  /// Waits for the device; valid after advance() returned plan.depth(), and until the next load() or reset().
  virtual Outcome outcome() = 0;
};

/// The loaded images' activations at one moment, in a copy on their device.
class ActivationsCopy {
 public:
  virtual ~ActivationsCopy() = default;
  ActivationsCopy() = default;
  ActivationsCopy(const ActivationsCopy&) = delete;
  ActivationsCopy& operator=(const ActivationsCopy&) = delete;

  /// As InspectableEngine::sparse_activations(). On any thread, while the engine goes on, or has ended.
  virtual CsrMatrix read(std::size_t most) const = 0;
};

/// An engine whose activations can be inspected between layers.
class InspectableEngine : public Engine {
 public:
  /// Every loaded image's stored activations after the last advanced layer, row-major images x stored neurons, retired
  /// images filled in (zeros, cap, the row of the image that they duplicate). An engine may recompute layers for
  /// it; the run can continue afterwards.
  virtual std::vector<double> activations() = 0;
  /// The same in fp32 without zeros, from engines that avoid the dense form's eight bytes per activation; empty from
  /// others. std::bad_alloc if it takes more than `most` bytes on the host.
  virtual std::optional<CsrMatrix> sparse_activations(std::size_t /*most*/) { return {}; }
  /// A copy of them, made in the time of a layer or less. Null from engines on the CPU and others that make none, and
  /// if the device lacks the memory.
  virtual std::unique_ptr<ActivationsCopy> copy_activations() { return nullptr; }
};

/// An engine that can leave some of the loaded images to other processes, which have loaded the same ones. Images are
/// taken in parts of equal size, the last of which may be smaller.
class SharingEngine {
 public:
  virtual ~SharingEngine() = default;
  /// Gives the number of a part that nobody has taken, of `parts` equal ones; at the end, any larger number. Called on
  /// all threads of the engine, one at a time.
  using NextPart = std::function<Index(Index parts)>;
  /// After load(), before the first layer: the engine takes parts from `next` in the run that follows, and the same
  /// ones in all later runs, until the next load(). The outcome has no other images.
  virtual void share(NextPart next) = 0;
  virtual Index images_per_part() const = 0;
  /// The parts that it has taken, in this order.
  virtual const std::vector<Index>& taken() const = 0;
};

/// A line of src/engines/variants.def.
struct Variant {
  std::string_view name;
  Device device;
  std::string_view description;
  std::vector<Precision> precisions;  ///< supported; the first is the default
  /// May be called for any of the precisions, with or without a device.
  Support (*support)(const Plan&, const BatchInfo&, const EngineOptions&);
  /// For supported work only. The engine keeps the plan alive.
  std::unique_ptr<Engine> (*make)(std::shared_ptr<const Plan>, const BatchInfo&, const EngineOptions&);
};

/// The variants of this build, in the order of variants.def.
const std::vector<Variant>& variants();
/// Throws UsageError that names the choices, or the build option for a variant that this build lacks.
const Variant& find_variant(std::string_view name);

/// The variant's answer, after a check of the precision.
Support support_of(const Variant& variant, const Plan& plan, const BatchInfo& batch, const EngineOptions& options);
/// An engine of the variant. UsageError if it does not support the work.
std::unique_ptr<Engine> make_engine(const Variant& variant, std::shared_ptr<const Plan> plan, const BatchInfo& batch,
                                    const EngineOptions& options);

}  // namespace spdnn
