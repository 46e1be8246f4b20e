#pragma once

#include "engines/cuda/conv_direct/direct.hpp"
#include "program/kernel.hpp"

namespace spdnn::cuda {

/// The offer of a kernel that reads each tap from device memory, a warp for each output, in a layout of blocks of
/// images that are 32 words wide.
program::Offer tap_offer(const program::Request& request, const Convolution& convolution, const program::Layout& layout,
                         decltype(&convolve_by_taps) convolve);

}  // namespace spdnn::cuda
