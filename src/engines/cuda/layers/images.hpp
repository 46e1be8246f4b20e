#pragma once

#include "core/types/plan.hpp"
#include "engines/cuda/layers/layer.hpp"
#include "engines/cuda/runtime/buffer.hpp"
#include "spdnn/images.hpp"

namespace spdnn::cuda {

/// A batch of input images on the device, in the form of the set: bits or CSR.
class DeviceImages {
 public:
  /// Replaces the batch. Enqueues on `stream`; page-locked staging makes the copy asynchronous.
  void load(const ImageSet& images, cudaStream_t stream);

  Index images() const { return images_; }
  Index neurons() const { return neurons_; }
  bool is_bits() const { return is_bits_; }
  /// Bits: images x words_per_row(), lowest bit first; null for CSR.
  const std::uint64_t* words() const { return words_.data(); }
  std::size_t words_per_row() const { return (std::size_t{neurons_} + 63) / 64; }
  /// CSR: null for bits; `values` null where every entry is `value`. Repeated neurons of an image are added.
  const Offset* offsets() const { return offsets_.data(); }
  const Index* indices() const { return indices_.data(); }
  const float* values() const { return values_.data(); }
  float value() const { return value_; }

  /// Writes images first .. first+count-1 densely, `count` of them in the given layout, as float or __half. Bound by
  /// writing.
  template <class Stored>
  void expand(Layout layout, Index first, Index count, Stored* to, cudaStream_t stream) const;

  /// An upper bound on a batch's bytes before its form is known: two bytes per neuron, enough for bits, and for CSR
  /// with values and up to a quarter of non-zeros.
  static std::size_t device_bytes(const Plan& plan, Index images) {
    return std::size_t{images} * (2 * std::size_t{plan.inputs()} + sizeof(Offset));
  }

 private:
  Index images_ = 0;
  Index neurons_ = 0;
  bool is_bits_ = false;
  DeviceBuffer<std::uint64_t> words_;
  DeviceBuffer<Offset> offsets_;
  DeviceBuffer<Index> indices_;
  DeviceBuffer<float> values_;
  float value_ = 1.0F;
};

}  // namespace spdnn::cuda
