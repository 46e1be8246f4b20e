#pragma once

#include <memory>

#include "engines/cuda/layers/images.hpp"
#include "engines/cuda/layers/source.hpp"
#include "engines/cuda/retire/active_rows.hpp"
#include "engines/engine.hpp"

namespace spdnn::cuda {

/// The product of a layer with dense activations (float or __half): the part in which the dense variants differ.
template <class Stored>
class DenseProduct {
 public:
  virtual ~DenseProduct() = default;
  DenseProduct() = default;
  DenseProduct(const DenseProduct&) = delete;
  DenseProduct& operator=(const DenseProduct&) = delete;

  /// Called once, before the first run, with a layer and `images` expanded images in the layout that layout() names:
  /// may measure alternatives and keep the fastest, including the layout. `y` and `z` may be overwritten.
  virtual void tune(const DeviceLayer& layer, Index images, Stored* y, Stored* z) = 0;
  virtual Layout layout() const = 0;
  /// Enqueues z = y * weights, z and y dense in layout(), for `images` >= 1 images and a layer with edges.
  virtual void multiply(const DeviceLayer& layer, Index images, const Stored* y, Stored* z) = 0;
};

/// Runs a plan layer by layer on dense activations: two matrices of images x widest layer. Images are retired on the
/// device; when more than a sixteenth of the rows are retired, the rest is compacted, for which the host reads one
/// number per layer (the libraries take the number of images from the host). Without these passes nothing is read back.
template <class Stored>
class DenseEngine final : public InspectableEngine {
 public:
  using MakeProduct = std::unique_ptr<DenseProduct<Stored>> (*)(const Plan& plan, const EngineOptions& options,
                                                                cudaStream_t stream);
  DenseEngine(Plan plan, const EngineOptions& options, LayerFormat format, MakeProduct make);

  void load(const ImageSet& images) override;
  void reset() override;
  Index advance(Index first, Index until) override;
  Outcome outcome() override { return rows_.outcome(); }
  std::vector<double> activations() override;

  /// Two matrices of activations, the rows' state, and the plan.
  static std::size_t device_bytes(const Plan& plan, LayerFormat format, const EngineOptions& options, Index images);

 private:
  void tune();
  void run_layer(Index number);
  void retire_duplicates();
  void drop_retired();

  const Plan plan_;
  Stream stream_;
  Activation activation_;
  LayerSource layers_;
  std::unique_ptr<DenseProduct<Stored>> product_;
  bool tuned_ = false;
  ActiveRows rows_;
  DeviceImages images_;
  DeviceBuffer<Stored> y_;  ///< the activations
  DeviceBuffer<Stored> z_;
  Index width_ = 0;  ///< neurons of y_
};

}  // namespace spdnn::cuda
