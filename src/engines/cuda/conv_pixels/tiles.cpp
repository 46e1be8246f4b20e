// Tiles of a convolution whose input is copied to shared memory.

#include <algorithm>
#include <cmath>

#include "engines/cuda/conv_pixels/pixels.hpp"

namespace spdnn::cuda {

TilePlanes tile_planes(const PixelShape& shape, const PixelTiling& tiling) {
  TilePlanes planes;
  const Index windows[2] = {tiling.rows, shape.out[1]};
  Index across[2];  // numbers a stride apart
  for (std::size_t axis = 0; axis < 2; ++axis) {
    planes.stride[axis] = shape.stride[axis];
    planes.inverse[axis] = ((1U << 16U) - 1) / shape.stride[axis] + 1;
    planes.read[axis] = (windows[axis] - 1) * shape.stride[axis] + (shape.kernel[axis] - 1) * shape.dilation[axis] + 1;
    across[axis] = (planes.read[axis] - 1) / shape.stride[axis] + 1;
  }
  planes.pitch = across[1];
  planes.plane = across[0] * across[1];
  planes.channel = planes.plane * shape.stride[0] * shape.stride[1];
  for (Index r = 0; r < shape.kernel[0]; ++r)
    for (Index s = 0; s < shape.kernel[1]; ++s)
      planes.channel = std::max(
          planes.channel, planes.place(r * shape.dilation[0], s * shape.dilation[1]) + tiling.pixels * kPixelLanes);
  return planes;
}

std::vector<PixelTiling> tile_tilings(const PixelShape& shape) {
  constexpr Index kMostStride = 16;  // that TilePlanes divides by
  constexpr Index kMostAcross = 255;
  std::vector<PixelTiling> all;
  PixelTiling tiling{.filters = kTogether, .pixels = 4, .rows = 1};
  const TilePlanes row = tile_planes(shape, tiling);
  const Index lanes = tiling.pixels * kPixelLanes;
  if (shape.groups > 1 || shape.out[1] > lanes) return all;
  tiling.rows = std::min((lanes - shape.out[1]) / row.pitch + 1, shape.out[0]);
  for (const std::size_t axis : {0, 1})
    if (shape.stride[axis] > kMostStride || tile_planes(shape, tiling).read[axis] / shape.stride[axis] > kMostAcross)
      return all;
  for (tiling.warps = 1; tiling.warps <= 4; tiling.warps *= 2) all.push_back(tiling);
  return all;
}

double tile_seconds(const PixelShape& shape, const PixelTiling& tiling, Index entries, Index multiprocessors) {
  constexpr double kBlock = 9.4e-6;  // of a block, without its multiply-adds; one is on a multiprocessor at a time
  constexpr double kTogetherAdds = 28e-9;  // those of an entry, by a warp
  constexpr Index kSchedulers = 4;
  const Index bundles = std::min((shape.filters + tiling.filters - 1) / tiling.filters, tiling.bundles_of_block());
  const double waves = std::ceil(static_cast<double>(tiling.blocks(shape)) / multiprocessors);
  const double warps = std::ceil(static_cast<double>(bundles * tiling.warps) / kSchedulers);
  return waves * (kBlock + warps * entries / tiling.warps * kTogetherAdds);
}

}  // namespace spdnn::cuda
