#pragma once

#include <cuda.h>

#include "engines/cuda/conv_direct/direct.hpp"

namespace spdnn::cuda {

/// How a copy by the device's copy engine (TMA) reads the input of a convolution: a box of 32 images x columns x rows x
/// channels of a block of images; places outside the input become 0. Every steps[0]-th row and steps[1]-th column is
/// read. A pixel has kPixelBytes, or half of them: then the numbers are halves. DeviceError if the driver makes no such
/// map.
CUtensorMap input_map(const DirectShape& shape, Index channels, const Index (&read)[2], const Index (&steps)[2],
                      const void* x, std::size_t pixel_bytes = kPixelBytes);

/// A limit of the box, by axis, with those that are not read.
inline constexpr Index kMostOfBox = 256;

}  // namespace spdnn::cuda
