#pragma once

// The kernel of convolutions of few images; pixels.hpp describes its data.
//
// Mapping. A lane has one, two or four output pixels, 32 apart. A warp has a bundle of filters or a share of its
// entries; if it has a share, the sums are added in the order of the shares. The block's entries are copied to shared
// memory before the kernel waits for the one before it, which overlaps with that one's end. If the input is older than
// that kernel, as a shortcut's is, only what follows the sums waits, and both run side by side.
//
// Bound. The latency of launches and of L2; where an image has many pixels, what L2 gives: 128 bytes for each entry of
// 32 pixels, since the few filters of a block rarely read the same numbers.

#include <bit>
#include <type_traits>

#include "engines/cuda/conv_pixels/sums.cuh"

namespace spdnn::cuda {

inline constexpr Index kPixelThreads = kPixelWarps * kPixelLanes;

/// The taps of a window that lie within the image: a bit each. Windows without any beyond it have no bits.
template <Index kTaps>
class TapsWithin {
 public:
  using Bits = std::conditional_t<kTaps <= 32, std::uint32_t, unsigned long long>;

  TapsWithin() = default;
  /// `row`, `column`: of the window's first tap.
  __device__ TapsWithin(const PixelShape& shape, int row, int column) {
    if constexpr (kTaps > 0) {
      Bits columns = 0;
      for (Index s = 0; s < shape.kernel[1]; ++s)
        columns |= Bits{static_cast<Index>(column) + s * shape.dilation[1] < shape.in[1]} << s;
      for (Index r = 0; r < shape.kernel[0]; ++r)
        if (static_cast<Index>(row) + r * shape.dilation[0] < shape.in[0]) bits_ |= columns << (r * shape.kernel[1]);
    }
  }
  __device__ bool have(Bits tap) const { return kTaps == 0 || (bits_ & tap) != 0; }

 private:
  Bits bits_ = 0;
};

template <Index kFilters, Index kPixels, Index kTaps>
class WindowSums : public PixelSums<kFilters, kPixels> {
 public:
  using Entry = PixelEntry<kFilters>;
  using Bits = typename TapsWithin<kTaps>::Bits;

  /// The lane's pixels: their windows' beginnings, and their places in the output's planes.
  __device__ WindowSums(const PixelArgs& args, Index first_pixel) {
    const PixelShape& shape = args.shape;
    for (Index p = 0; p < kPixels; ++p) {
      const Index number = first_pixel + p * kPixelLanes;
      exists_[p] = number < shape.pixels();
      const Index pixel = exists_[p] ? number : 0;
      const Index image = pixel / shape.plane();
      const Index within = pixel % shape.plane();
      const int row = static_cast<int>(within / shape.out[1] * shape.stride[0]) - static_cast<int>(shape.pad[0]);
      const int column = static_cast<int>(within % shape.out[1] * shape.stride[1]) - static_cast<int>(shape.pad[1]);
      from_[p] = args.x + static_cast<int>(image * shape.channels * shape.in_plane()) +
                 (row * static_cast<int>(shape.in[1]) + column);
      within_[p] = TapsWithin<kTaps>(shape, row, column);
      to_[p] = image * shape.filters * shape.plane() + within;
    }
  }

  /// Adds the products of entries, several of which have their reads under way.
  __device__ void add(const Entry* entry, const Entry* end) {
    constexpr Index kAhead = kPixels == 4 ? 4 : 8;
    for (; entry + kAhead <= end; entry += kAhead) add_some<kAhead>(entry, kAhead);
    if (entry < end) add_some<kAhead>(entry, static_cast<Index>(end - entry));
  }

 private:
  using Base = PixelSums<kFilters, kPixels>;
  using Base::exists_, Base::sums_, Base::to_;

  /// Of kAhead entries, the first `count`.
  template <Index kAhead>
  __device__ void add_some(const Entry* entries, Index count) {
    float read[kAhead][kPixels];
#pragma unroll
    for (Index i = 0; i < kAhead; ++i) {
      if (i >= count) {
        for (Index p = 0; p < kPixels; ++p) read[i][p] = 0;
        continue;
      }
      const Index place = entries[i].place % (1U << kPlaceBits);
      const Bits tap = kTaps == 0 ? 0 : Bits{1} << (entries[i].place >> kPlaceBits);
#pragma unroll
      for (Index p = 0; p < kPixels; ++p) read[i][p] = within_[p].have(tap) ? from_[p][place] : 0;
    }
#pragma unroll
    for (Index i = 0; i < kAhead; ++i) {
      if (i >= count) break;
#pragma unroll
      for (Index f = 0; f < kFilters; ++f)
#pragma unroll
        for (Index p = 0; p < kPixels; ++p) sums_[f][p] = fmaf(entries[i].weights[f], read[i][p], sums_[f][p]);
    }
  }

  const float* from_[kPixels]{};
  TapsWithin<kTaps> within_[kPixels];
};

template <Index kFilters, Index kPixels, Index kTaps>
__global__ void __launch_bounds__(kPixelThreads, kFilters == 1 ? 4 : 2)
    pixels_kernel(const __grid_constant__ PixelArgs args) {
  using Entry = PixelEntry<kFilters>;
  constexpr Index kOfRound = kPixels * kPixelLanes;
  auto* const shared = dynamic_shared<std::byte>();
  const Index warp = threadIdx.x / kPixelLanes;
  const Index bundles = kPixelWarps / args.warps;
  const Index first_bundle = blockIdx.x % args.bundle_blocks * bundles;
  const auto* const begins = reinterpret_cast<const Index*>(args.weights);
  const Index begin = begins[first_bundle];
  const Index all = begins[first_bundle + bundles] - begin;
  copy_entries<kFilters>(args, begin, begin + all, shared);
  const Index number = first_bundle + warp / args.warps;
  const Index share = warp % args.warps;
  const Index count = begins[number + 1] - begins[number];
  const auto* const entries = reinterpret_cast<const Entry*>(shared) + begins[number] - begin;
  const PixelBundle<kFilters> bundle(args, number);
  const Index first = blockIdx.x / args.bundle_blocks * args.rounds * kOfRound;
  for (Index round = 0; round < args.rounds && first + round * kOfRound < args.shape.pixels(); ++round) {
    WindowSums<kFilters, kPixels, kTaps> sums(args, first + round * kOfRound + threadIdx.x % kPixelLanes);
    if (round == 0) {
      async_copy_wait();
      __syncthreads();
      if (!args.x_is_older) {
        wait_for_kernel_before();
        let_next_kernel_begin();
      }
    }
    if (!args.x_is_older && share == 0) sums.prefetch(args, bundle);
    sums.add(entries + count * share / args.warps, entries + count * (share + 1) / args.warps);
    if (args.x_is_older && round == 0) {  // the next kernel may rely on all kernels but this one
      wait_for_kernel_before();
      let_next_kernel_begin();
    }
    if (args.warps > 1)
      sums.gather(reinterpret_cast<float*>(shared + pixel_entries_bytes(all * sizeof(Entry))),
                  share == 0 ? args.warps : 0);
    if (share == 0) sums.store(args, bundle);
  }
}

}  // namespace spdnn::cuda
