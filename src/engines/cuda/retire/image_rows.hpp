#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "engines/engine.hpp"
#include "spdnn/csr_matrix.hpp"

namespace spdnn::cuda {

/// The row of each loaded image among the rows that an engine has: row-major, `stride` floats apart.
class ImageRows {
 public:
  static constexpr Index kZeros = ~Index{0};  ///< in place of a row: a dead image
  static constexpr Index kAtCap = kZeros - 1;

  /// `cap` is that of a plan with saturated images.
  ImageRows(Index width, std::size_t stride, Index rows, float cap, std::vector<Index> of_image)
      : width_(width), stride_(stride), rows_(rows), at_cap_(width, cap), of_image_(std::move(of_image)) {}

  Index width() const { return width_; }
  Index rows() const { return rows_; }
  std::size_t floats() const { return rows_ * stride_; }
  std::size_t bytes() const { return floats() * sizeof(float); }
  Index images() const { return static_cast<Index>(of_image_.size()); }

  /// Writes an image's activations, where `active` has the rows, over zeros.
  template <class Value>
  void copy(Index image, const Value* active, double* to) const {
    const Index row = of_image_[image];
    if (row == kAtCap)
      std::copy_n(at_cap_.begin(), width_, to);
    else if (row != kZeros)
      std::copy_n(active + row * stride_, width_, to);
  }
  /// All images' without zeros. std::bad_alloc where that takes more than `most` bytes.
  CsrMatrix csr(const float* active, std::size_t most) const;

 private:
  Index width_;
  std::size_t stride_;
  Index rows_;
  std::vector<float> at_cap_;
  std::vector<Index> of_image_;
};

/// Copies rows on the device, if its memory, and the limits of `options`, leave room beside what the pool has in use:
/// null otherwise. `copy(to)` enqueues the copy on the engine's stream, `stream`. Cost: reading and writing them in
/// device memory; reading the copy passes it through page-locked memory on a stream of its own, beside the kernels.
std::unique_ptr<ActivationsCopy> copy_rows(ImageRows rows, const EngineOptions& options, cudaStream_t stream,
                                           const std::function<void(float* to)>& copy);

}  // namespace spdnn::cuda
