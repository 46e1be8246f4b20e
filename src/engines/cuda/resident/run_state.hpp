#pragma once

#include <vector>

#include "engines/cuda/resident/view.hpp"
#include "engines/cuda/runtime/buffer.hpp"

namespace spdnn::cuda::resident {

/// The state of a trial besides the images' rows: control, counters, categories, and the marks of tiles. It is one
/// block of device memory, results first, so that one copy starts a trial and one ends it.
class RunState {
 public:
  /// For a batch of `images` in at most `tiles` tiles.
  void reserve(Index images, std::size_t tiles, Index depth, cudaStream_t stream);
  /// Enqueues the start of a trial.
  void begin(cudaStream_t stream);
  /// Enqueues the copy of the results to the host, where the functions below read them.
  void fetch(cudaStream_t stream);

  const Control& control() const { return *reinterpret_cast<const Control*>(host_.data()); }
  const LayerCounters* counts() const { return reinterpret_cast<const LayerCounters*>(host_.data() + at_.counts); }
  std::vector<Index> categories() const { return images_at(at_.categories); }
  std::vector<Index> borderline() const { return images_at(at_.borderline); }

  /// Points the batch at the state on the device.
  void attach(BatchView& batch) const;

 private:
  struct Offsets {  ///< in bytes
    std::size_t counts = 0, categories = 0, borderline = 0, results_end = 0, progress = 0, retired = 0, end = 0;
  };

  std::vector<Index> images_at(std::size_t offset) const;
  template <class T>
  T* device(std::size_t offset) const {
    return reinterpret_cast<T*>(device_.data() + offset);
  }

  Index images_ = 0;
  Offsets at_;
  DeviceBuffer<std::byte> device_;
  PinnedBuffer<std::byte> start_;  ///< the initial state of a trial
  PinnedBuffer<std::byte> host_;
};

}  // namespace spdnn::cuda::resident
