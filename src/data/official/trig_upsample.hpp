#pragma once

#include <cstdint>
#include <span>

#include "spdnn/images.hpp"
#include "spdnn/progress.hpp"

namespace spdnn {

/// Enlarges images of 28 x 28 bytes to `side` x `side` and makes them black and white, by the method of the official
/// inputs: the images are placed side by side in one strip of 28 rows, and the strip is interpolated trigonometrically
/// to `side` rows (its spectrum is padded with zeros, and Nyquist terms stay on the negative side). A pixel is set if
/// its magnitude exceeds half of the largest in the whole strip. Neuron col * side + row of an image is its pixel (row,
/// col). `side` must be 32 or a multiple of 64 (otherwise std::invalid_argument). Needs 28 x 28 x 8 bytes of memory per
/// image, plus the result.
BitMatrix enlarge_and_threshold(std::span<const std::uint8_t> pixels, Index images, Index side,
                                const ProgressCallback& progress);

}  // namespace spdnn
