#pragma once

#include "engines/cuda/conv_direct/direct.hpp"

namespace spdnn::cuda {

/// The numbers of images of a lane to choose from: subBatchSize.
inline constexpr Index kSubBatches[] = {2, 4, 8};

/// As convolve_directly(), with a tiling of an equal form.
void convolve_uniformly(const DirectShape& shape, const DirectTiling& tiling, const std::byte* weights,
                        std::size_t part_bytes, const std::byte* x, const Functions& functions, std::byte* y,
                        CUstream_st* stream);

}  // namespace spdnn::cuda
