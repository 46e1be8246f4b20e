#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/types/plan.hpp"
#include "engines/support.hpp"
#include "spdnn/images.hpp"
#include "spdnn/outcome.hpp"

namespace spdnn {

struct EngineOptions {
  Precision precision = Precision::fp32;
  int threads = 0;                ///< host threads; 0: as many as the process may use
  int device = 0;                 ///< which of the visible CUDA devices
  std::size_t host_memory = 0;    ///< bytes an engine on the CPU may take; 0: nine tenths of what is available
  std::size_t device_memory = 0;  ///< bytes an engine may take on its CUDA device; 0: all that is free
  int sharers = 1;                ///< processes that share the device's memory evenly, this one included
  bool in_steps = false;          ///< advance() may be asked for a few layers at a time
  bool may_overflow = false;      ///< a sum may exceed what the precision holds: the engine notes where it does
  /// Whether the run is to end before its time. Engines on the CPU ask again and again, on the thread that made them,
  /// and advance() ends with Cancelled once the answer is yes. Empty: never.
  std::function<bool()> cancelled = {};
};

/// What became of one loaded image.
/// An image whose row equals another's from some layer on points to it; chains end at an image that is none.
struct ImageState {
  enum class Kind : std::uint8_t { undecided, dead, saturated, duplicate, borderline };
  Kind kind = Kind::undecided;
  Index duplicate_of = 0;  ///< the image whose row it shares (Kind::duplicate)
};

/// What is known of the images before they are loaded.
struct BatchInfo {
  Index images = 0;     ///< loaded at a time: what memory is told for
  bool binary = false;  ///< no value but 0 and 1
  bool bits = false;    ///< held as bits (binary, then)
};
BatchInfo batch_info(const ImageSet& images);

/// One plan resident on one device. Use: make, then per batch load(), then per trial reset(), advance() until it
/// returns plan.depth(), outcome(). The loop, the timers and the progress bar are outside, once, for all variants.
class Engine {
 public:
  virtual ~Engine() = default;
  Engine() = default;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Makes a batch of images resident in the engine's own form, in place of the earlier one, and takes what memory its
  /// run needs. The engine is then before layer 0, as after reset(). Images that the plan and the BatchInfo did not
  /// announce are an error of the caller's; the ImageSet may go away afterwards. Timed as upload.
  virtual void load(const ImageSet& images) = 0;
  /// Back before layer 0 with every loaded image undecided. Timed with the layers, as most engines expand the resident
  /// images into activations again: one pass over images x neurons at most. May return before a device has done it.
  virtual void reset() = 0;
  /// Takes layers first, first+1, ... below `until` on, at least one, and returns the next layer to ask for, at most
  /// `until`. `first` is what the call before returned, 0 after load() and reset(). An engine may fuse layers; on a
  /// device it may return before they are computed, and put them off to a later call that asks for more.
  virtual Index advance(Index first, Index until) = 0;
  /// Waits for the device; valid after advance() returned plan.depth(), and until the next load() or reset().
  virtual Outcome outcome() = 0;
};

/// An engine that can be looked into between layers.
class InspectableEngine : public Engine {
 public:
  /// Every loaded image's stored activations after the last advanced layer, row-major images x stored neurons, retired
  /// images filled in (zeros, cap, the row of the image that they duplicate). An engine may compute the layers again
  /// for it; the run can go on afterwards.
  virtual std::vector<double> activations() = 0;
  /// The same as fp32 numbers and without zeros, from engines that have no need of the dense form's eight bytes per
  /// activation; nothing from others. std::bad_alloc where they take more than `most` bytes on the host.
  virtual std::optional<CsrMatrix> sparse_activations(std::size_t /*most*/) { return {}; }
};

/// A line of src/engines/variants.def.
struct Variant {
  std::string_view name;
  Device device;
  std::string_view description;
  std::vector<Precision> precisions;  ///< supported; the first is the default
  /// May be asked for any of the precisions, whether or not there is a device.
  Support (*support)(const Plan&, const BatchInfo&, const EngineOptions&);
  /// For what support() takes. The engine keeps the plan alive.
  std::unique_ptr<Engine> (*make)(std::shared_ptr<const Plan>, const BatchInfo&, const EngineOptions&);
};

/// The variants of this build, in the order of variants.def.
const std::vector<Variant>& variants();
/// Throws UsageError naming the choices, or the build option that a known but absent variant needs.
const Variant& find_variant(std::string_view name);

/// What the variant says, the precision included.
Support support_of(const Variant& variant, const Plan& plan, const BatchInfo& batch, const EngineOptions& options);
/// An engine of the variant. UsageError where it does not support what is asked for.
std::unique_ptr<Engine> make_engine(const Variant& variant, std::shared_ptr<const Plan> plan, const BatchInfo& batch,
                                    const EngineOptions& options);

}  // namespace spdnn
