#pragma once

#include <cstdint>
#include <span>

#include "spdnn/images.hpp"
#include "spdnn/progress.hpp"

namespace spdnn {

/// Enlarges images of 28 x 28 bytes to `side` x `side` and makes them black and white, as the official inputs were
/// made: the images stand side by side in one strip of 28 rows, and the strip is interpolated trigonometrically to
/// `side` rows (its spectrum is padded with zeros, and Nyquist terms are left on the negative side). A pixel is one
/// where its magnitude exceeds half of the largest in the whole strip. Neuron col * side + row of an image is its pixel
/// (row, col). `side` must be 32 or a multiple of 64 (std::invalid_argument otherwise). Needs 28 x 28 x 8 bytes of
/// memory per image, besides the result.
BitMatrix enlarge_and_threshold(std::span<const std::uint8_t> pixels, Index images, Index side,
                                const ProgressCallback& progress);

}  // namespace spdnn
