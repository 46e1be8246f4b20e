#pragma once

// The kernel of convolutions of few images whose input is copied to shared memory; pixels.hpp describes its data.
//
// Mapping. A block has a tile of whole rows of the output of one image. A lane's pixels are 32 apart in planes whose
// rows are `pitch` numbers long; those between two rows of the output are computed too, and not stored. So the places
// that a tap reads for a warp follow one another, without conflicts of banks, whatever the window and its stride.
//
// Bound. Multiply-adds, one for each weight and pixel, idle lanes included; before them, the copies. Filters with few
// weights are better off without: their multiply-adds are fewer than the numbers to be copied.

#include "engines/cuda/conv_pixels/sums.cuh"
#include "engines/cuda/runtime/copy_or_zero.cuh"

namespace spdnn::cuda {

inline constexpr Index kTileThreads = kTileWarps * kPixelLanes;

struct TileArgs {
  PixelArgs pixels;
  Index rows;
  TilePlanes planes;
};

/// Copies channels of the tile's input, with zeros around the image; a team of warps copies a channel.
__device__ inline void copy_channels(const TileArgs& args, const float* image, Index first_row, float* to) {
  const PixelShape& shape = args.pixels.shape;
  const TilePlanes& planes = args.planes;
  const Index warp = threadIdx.x / kPixelLanes;
  const Index teams = min(kTileWarps, shape.channels);
  const Index warps = kTileWarps / teams;
  const Index first = warp / warps;
  if (warp >= teams * warps) return;
  const Index step[2] = {warps * kPixelLanes / planes.read[1], warps * kPixelLanes % planes.read[1]};
  const Index lane = warp % warps * kPixelLanes + threadIdx.x % kPixelLanes;
  Index row = lane / planes.read[1];
  Index column = lane % planes.read[1];
  while (row < planes.read[0]) {
    const Index in_row = first_row + row - shape.pad[0];
    const Index in_column = column - shape.pad[1];
    const bool exists = in_row < shape.in[0] && in_column < shape.in[1];
    const float* from = image + first * shape.in_plane() + (exists ? in_row * shape.in[1] + in_column : 0);
    float* at = to + first * planes.channel + planes.place(row, column);
#pragma unroll 4
    for (Index channel = first; channel < shape.channels; channel += teams) {
      async_copy_or_zero<sizeof(float)>(at, from, exists);
      from += teams * shape.in_plane();
      at += teams * planes.channel;
    }
    row += step[0];
    column += step[1];
    if (column >= planes.read[1]) {
      column -= planes.read[1];
      ++row;
    }
  }
}

template <Index kFilters, Index kPixels>
class TileSums : public PixelSums<kFilters, kPixels> {
 public:
  using Entry = PixelEntry<kFilters>;

  __device__ TileSums(const TileArgs& args, Index image, Index first_row, const float* input)
      : from_(input + threadIdx.x % kPixelLanes) {
    const PixelShape& shape = args.pixels.shape;
    for (Index p = 0; p < kPixels; ++p) {
      const Index number = p * kPixelLanes + threadIdx.x % kPixelLanes;
      const Index row = number / args.planes.pitch;
      const Index column = number % args.planes.pitch;
      exists_[p] = row < args.rows && first_row + row < shape.out[0] && column < shape.out[1];
      to_[p] = image * shape.filters * shape.plane() + (first_row + row) * shape.out[1] + column;
    }
  }

  __device__ void add(const Entry* entry, const Entry* end) {
    this->template add_products<2>(entry, end, [this](const Entry& of, float(&values)[kPixels]) {
      const float* const from = from_ + of.place;
#pragma unroll
      for (Index p = 0; p < kPixels; ++p) values[p] = from[p * kPixelLanes];
    });
  }

 private:
  using Base = PixelSums<kFilters, kPixels>;
  using Base::exists_, Base::to_;

  const float* from_;
};

template <Index kFilters, Index kPixels>
__global__ void __launch_bounds__(kTileThreads, 1) tiles_kernel(const __grid_constant__ TileArgs args) {
  using Entry = PixelEntry<kFilters>;
  const PixelArgs& pixels = args.pixels;
  const PixelShape& shape = pixels.shape;
  auto* const shared = dynamic_shared<std::byte>();
  const Index warp = threadIdx.x / kPixelLanes;
  const Index bundles = kTileWarps / pixels.warps;
  const Index block = blockIdx.x % pixels.bundle_blocks;
  const Index tiles = (shape.out[0] + args.rows - 1) / args.rows;
  const Index image = blockIdx.x / pixels.bundle_blocks / tiles;
  const Index first_row = blockIdx.x / pixels.bundle_blocks % tiles * args.rows;
  auto* const input = reinterpret_cast<float*>(shared + pixel_entries_bytes(pixels.parts.entries * sizeof(Entry)));
  copy_entries<kFilters>(pixels, block, shared);
  if (!pixels.x_is_older) wait_for_others();
  copy_channels(args, pixels.x + std::size_t{image} * shape.channels * shape.in_plane(), first_row * shape.stride[0],
                input);
  const Index number = warp / pixels.warps;
  const Index share = warp % pixels.warps;
  const auto* const begins = reinterpret_cast<const Index*>(pixels.weights) + block * (bundles + 1) + number;
  const Index begin = begins[0];
  const Index count = begins[1] - begin;
  TileSums<kFilters, kPixels> sums(args, image, first_row, input);
  const auto bundle = [&] { return PixelBundle<kFilters>(pixels, block * bundles + number); };  // not kept meanwhile
  if (!pixels.x_is_older && share == 0) sums.prefetch(pixels, bundle());
  async_copy_wait();
  __syncthreads();
  const auto* const entries = reinterpret_cast<const Entry*>(shared) + begin;
  sums.add(entries + count * share / pixels.warps, entries + count * (share + 1) / pixels.warps);
  if (pixels.x_is_older) wait_for_others();
  if (pixels.warps > 1) sums.gather(input, share == 0 ? pixels.warps : 0);
  if (share == 0) sums.store(pixels, bundle());
}

}  // namespace spdnn::cuda
