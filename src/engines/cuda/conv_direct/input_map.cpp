#include "engines/cuda/conv_direct/input_map.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <string>

#include "engines/cuda/runtime/check.hpp"
#include "program/layout.hpp"
#include "spdnn/error.hpp"

namespace spdnn::cuda {

namespace {

/// The function of the driver that makes maps, which no library of the runtime has.
auto* encode_function() {
  static auto* const function = [] {
    void* address = nullptr;
    cudaDriverEntryPointQueryResult found{};
    check(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &address, 12000, cudaEnableDefault, &found));
    if (found != cudaDriverEntryPointSuccess) throw DeviceError("the driver has no cuTensorMapEncodeTiled");
    return reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(address);
  }();
  return function;
}

}  // namespace

CUtensorMap input_map(const DirectShape& shape, Index channels, const Index (&read)[2], const Index (&steps)[2],
                      const void* x, std::size_t pixel_bytes) {
  CUtensorMap map{};
  const cuuint64_t extents[] = {program::kImagesTogether, shape.in[1], shape.in[0], shape.channels, shape.blocks};
  const auto stride = [&](std::size_t pixels) -> cuuint64_t { return std::max<std::size_t>(pixels, 1) * pixel_bytes; };
  const cuuint64_t strides[] = {stride(1), stride(shape.in_row), stride(shape.in_channel), stride(shape.in_block)};
  const cuuint32_t box[] = {program::kImagesTogether, (read[1] - 1) * steps[1] + 1, (read[0] - 1) * steps[0] + 1,
                            channels, 1};
  const cuuint32_t traversal[] = {1, steps[1], steps[0], 1, 1};
  const CUresult result = encode_function()(
      &map, pixel_bytes == kPixelBytes ? CU_TENSOR_MAP_DATA_TYPE_FLOAT32 : CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 5,
      const_cast<void*>(x), extents, strides, box, traversal, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
      CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS)
    throw DeviceError("cuTensorMapEncodeTiled failed with code " + std::to_string(static_cast<int>(result)));
  return map;
}

}  // namespace spdnn::cuda
