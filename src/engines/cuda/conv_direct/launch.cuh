#pragma once

// What launches of direct convolutions of all forms share.

#include <algorithm>

#include "engines/cuda/conv_direct/direct.cuh"
#include "engines/cuda/conv_direct/input_map.hpp"
#include "engines/cuda/conv_direct/mapped_reader.cuh"
#include "engines/cuda/runtime/check.hpp"
#include "engines/cuda/runtime/device.hpp"

namespace spdnn::cuda {

/// Whether the copy engine can read a tile's input: on devices that have it.
inline bool is_mapped(const DirectTiling& tiling) {
  constexpr int kFirst = 9;  // compute capability
  int device = 0;
  check(cudaGetDevice(&device));
  return device_properties(device).major >= kFirst && std::max(tiling.rows_read, tiling.columns_read) <= kMostOfBox;
}

template <class Config, class Reader>
void launch_kernel(const DirectArgs& args, std::size_t part_bytes, const typename Reader::Source& source,
                   cudaStream_t stream) {
  const std::size_t bytes = direct_shared_bytes(args.tiling, part_bytes) - kPixelBytes;  // the barriers are not dynamic
  const auto kernel = direct_kernel<Config, Reader>;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
  const auto blocks = std::min(args.items, static_cast<Index>(current_device_properties().multiProcessorCount));
  kernel<<<blocks, kDirectThreads, bytes, stream>>>(args, source);
  check_launch();
}

inline MappedReader::Source mapped_source(const DirectArgs& args) {
  const DirectTiling& tiling = args.tiling;
  return {input_map(args.shape, tiling.channels, {tiling.rows_read, tiling.columns_read}, {1, 1}, args.x,
                    tiling.form.pixel_bytes())};
}

}  // namespace spdnn::cuda
