#pragma once

// The kernel of direct convolutions; direct.hpp describes its data.
//
// Blocks are as many as multiprocessors, and go on from tile to tile: the copies for the next step run during the sums
// and while results are written.
//
// Mapping. A lane has some images, four in conv_direct, of one row of the tile's pixels, and a warp some filters, whose
// sums for all columns of the tile are in registers. An entry is read by all lanes at once; then a lane reads its
// images of a pixel for each column. In an equal form the entries of a warp's filters take turns, so that one loop has
// the reads of all filters under way; in the other one filter follows another.
//
// Bound. Shared memory, of which a lane reads 16 bytes for four multiply-adds; where a filter has few weights in a
// chunk and is alone, the latency of the first reads.

#include "engines/cuda/conv_direct/functions.cuh"
#include "engines/cuda/conv_direct/steps.cuh"
#include "engines/cuda/conv_direct/sums.cuh"

namespace spdnn::cuda {

/// Applies the bias and the functions to a warp's sums, and writes them.
template <class Config, class Images>
__device__ void write_results(const DirectArgs& args, const DirectItem& at, const Images& images,
                              typename Images::Piece (&sums)[Config::kFilters][Config::kColumns][Images::kPieces]) {
  const DirectShape& shape = args.shape;
  const auto* filters = reinterpret_cast<const Index*>(args.weights + args.filters_at) +
                        (at.filters * kDirectWarps + threadIdx.x / 32) * Config::kFilters;
  const auto* bias = reinterpret_cast<const float*>(args.weights + args.bias_at);
  if (at.first[0] + images.row >= shape.out[0]) return;
  const auto for_each_sum = [&](const auto& work) {
#pragma unroll
    for (Index f = 0; f < Config::kFilters; ++f) {
      const Index filter = __ldg(filters + f);
      if (filter == kNoFilter) continue;
      const std::size_t place = (std::size_t{at.images} * shape.out_block + filter * shape.out_channel +
                                 (at.first[0] + images.row) * shape.out_row + at.first[1]) *
                                32;
#pragma unroll
      for (Index q = 0; q < Config::kColumns; ++q) {
        if (at.first[1] + q >= shape.out[1]) break;
#pragma unroll
        for (Index piece = 0; piece < Images::kPieces; ++piece)
          work(sums[f][q][piece], place + q * 32 + images.image(piece), filter);
      }
    }
  };
  for_each_sum([&](auto& sum, std::size_t place, Index filter) {
    change_each(sum, place, [b = __ldg(bias + filter)](float x, std::size_t) { return x + b; });
  });
  if constexpr (Config::kForm.has_functions())
    with_functions(args.functions, [&](const auto& function) {
      for_each_sum([&](auto& sum, std::size_t place, Index) { change_each(sum, place, function); });
    });
  for_each_sum(
      [&](const auto& sum, std::size_t place, Index) { write_images<Config::kForm.half>(args.y, place, sum); });
}

template <class Config, class Reader>
__global__ void __launch_bounds__(kDirectThreads, 1)
    direct_kernel(const __grid_constant__ DirectArgs args, const __grid_constant__ typename Reader::Source source) {
  using Images = LaneImages<Config::kForm.images, Config::kForm.half>;
  constexpr Index kNumberBytes = Config::kForm.pixel_bytes() / 32;
  const DirectShape& shape = args.shape;
  const DirectTiling& tiling = args.tiling;
  std::byte* const memory = aligned_to_pixel(dynamic_shared<std::byte>());
  Reader reader(args, source, memory);
  const Index warp = threadIdx.x / 32;
  const Images images(threadIdx.x % 32);
  const std::uint32_t column_step = (Config::kStride != 0 ? Config::kStride : shape.stride[1]) * 32 * kNumberBytes;
  const std::uint32_t own = (images.row * shape.stride[0] * tiling.columns_read * 32 + images.first) * kNumberBytes;

  reader.start(0);
  reader.start(1);
  Index step = 0;
  for (Index number = blockIdx.x; number < args.items; number += gridDim.x) {
    typename Images::Piece sums[Config::kFilters][Config::kColumns][Images::kPieces] = {};
    for (Index chunk = 0; chunk < tiling.chunks; ++chunk, ++step) {
      reader.wait(step);
      const std::uint32_t stage = shared_address(memory + step % 2 * args.stage_bytes);
      const auto entries = static_cast<std::uint32_t>(stage + tiling.tile_bytes());
      add_entries<Config>(entries, warp, stage + own, column_step, images.other_piece * static_cast<int>(kNumberBytes),
                          sums);
      reader.release(step);
    }
    write_results<Config>(args, DirectItem(args, number), images, sums);
  }
}

}  // namespace spdnn::cuda
