#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "spdnn/categories.hpp"
#include "spdnn/images.hpp"
#include "spdnn/plan.hpp"

namespace spdnn {

enum class Precision { fp16, fp32, fp64 };
enum class Device { cpu, cuda };

std::string_view to_string(Precision precision);
std::string_view to_string(Device device);

struct EngineOptions {
  Precision precision = Precision::fp32;
  int threads = 0;               ///< host threads; 0: as many as the process may use
  int device = 0;                ///< which of the visible CUDA devices
  std::size_t memory_limit = 0;  ///< bytes an engine may take on its CUDA device; 0: all that is free
  bool may_overflow = false;     ///< a sum may exceed what the precision holds: the engine notes where it does
};

/// What became of one loaded image.
/// An image whose row equals another's from some layer on points to it; chains end at an image that is none.
struct ImageState {
  enum class Kind : std::uint8_t { undecided, dead, saturated, duplicate, borderline };
  Kind kind = Kind::undecided;
  Index duplicate_of = 0;  ///< the image whose row it shares (Kind::duplicate)
};

/// An image in which a sum, its bias included, became infinite or no number at all, and the first such layer (0-based).
/// From there on its activations depend on the order of summation: cap and ReLU hide the overflow, they do not undo it.
struct Overflow {
  Index image = 0;
  Index layer = 0;

  bool operator==(const Overflow&) const = default;
};

/// Everything known once the last layer is through.
struct Outcome {
  Categories categories;  ///< 0-based within the loaded images
  /// Images not all-zero after each layer, those in `borderline` left out; -1 where the engine did not count.
  std::vector<std::int64_t> alive;
  /// Images retired at the cap, and images that became a duplicate of another: how many depends on which images an
  /// engine happens to compare, and may differ from run to run.
  std::int64_t saturated = 0;
  std::int64_t identical = 0;
  std::vector<Index> borderline;        ///< images for which `merge` could not decide: to be run without it
  std::vector<Overflow> overflow = {};  ///< ascending by image; noted where EngineOptions::may_overflow asks for it
};

/// One plan resident on one device. Use: construct, then per batch load(), then per trial reset(), advance() until it
/// returns plan.depth(), outcome(). The loop, the timers and the progress bar are outside, once, for all variants.
class Engine {
 public:
  virtual ~Engine() = default;
  Engine() = default;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Makes a batch of images resident in the engine's own form, in place of the earlier one.
  virtual void load(const ImageSet& images) = 0;
  /// Back before layer 0 with every loaded image undecided. Cheap: no image is converted or copied again.
  virtual void reset() = 0;
  /// Runs layers first, first+1, ... below `until`, at least one; returns the next layer to run. An engine may fuse
  /// layers, and may return plan.depth() early once every image is retired (never when until < depth).
  /// Asynchronous on a device.
  virtual Index advance(Index first, Index until) = 0;
  /// Waits for the device; valid after advance() returned plan.depth().
  virtual Outcome outcome() = 0;
  /// Tests and --verify: every loaded image's stored activations after the last advanced layer, row-major
  /// images x stored neurons, retired images filled in (zeros, cap, the twin's row).
  virtual std::vector<double> activations() = 0;
};

/// A row of src/engines/variants.def.
struct Variant {
  std::string_view name;
  Device device;
  std::string_view description;
  std::vector<Precision> precisions;  ///< supported; the first is the default
  std::unique_ptr<Engine> (*make)(const Plan&, const EngineOptions&);
  /// Bytes of host (CPU) or device (CUDA) memory the engine takes besides plan and images, for a batch of `images`;
  /// on a device, the plan's copy there included. UsageError where the variant does not take the plan.
  std::size_t (*working_bytes)(const Plan&, const EngineOptions&, Index images);
};

/// The variants of this build, in the order of variants.def.
const std::vector<Variant>& variants();
/// Throws UsageError naming the choices, or the build option that a known but absent variant needs.
const Variant& find_variant(std::string_view name);

}  // namespace spdnn
