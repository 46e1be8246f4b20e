#pragma once

#include <cstdint>
#include <span>

#include "core/progress.hpp"
#include "spdnn/images.hpp"

namespace spdnn {

/// Enlarges images of 28 x 28 bytes to `side` x `side` and makes them black and white, as the official inputs were:
/// the images stand side by side in one mosaic of 28 rows, the mosaic is interpolated trigonometrically to `side` rows
/// (zero-padded spectrum, Nyquist terms left on the negative side), and a pixel is one where its magnitude exceeds half
/// of the largest in the whole mosaic. Neuron col * side + row of an image is its pixel (row, col).
/// `side` is 32 or a multiple of 64 (std::invalid_argument otherwise). Needs 28 bytes x 8 of memory an image, besides
/// the result.
BitMatrix enlarge_and_threshold(std::span<const std::uint8_t> pixels, Index images, Index side, ProgressMode progress);

}  // namespace spdnn
