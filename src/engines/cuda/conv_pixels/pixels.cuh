#pragma once

// The kernel of convolutions of few images; pixels.hpp describes its data.
//
// Mapping. A lane has one, two or four output pixels, 32 apart, or four neighbouring ones (quads.cuh). A warp has a
// bundle of filters or a share of its entries; if it has a share, the sums are added in the order of the shares. The
// block's entries are copied to shared memory before the kernel waits for the one before it, which overlaps with that
// one's end. If the input is older than that kernel, as a shortcut's is, only what follows the sums waits, and both run
// side by side.
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
      const Bits columns = below(taps_until(shape, 1, column, shape.in[1])) & ~below(taps_until(shape, 1, column, 0));
      const Index end = taps_until(shape, 0, row, shape.in[0]);
      for (Index r = taps_until(shape, 0, row, 0); r < end; ++r) bits_ |= columns << (r * shape.kernel[1]);
    }
  }
  __device__ bool have(Bits tap) const { return kTaps == 0 || (bits_ & tap) != 0; }

 private:
  /// How many taps of an axis lie before a place, of a window that begins at `first`.
  __device__ static Index taps_until(const PixelShape& shape, std::size_t axis, int first, Index place) {
    const int distance = max(0, static_cast<int>(place) - first);
    const Index dilation = shape.dilation[axis];
    const Index taps = dilation == 1 ? distance : (distance + dilation - 1) / dilation;
    return min(taps, shape.kernel[axis]);
  }
  __device__ static Bits below(Index tap) { return tap >= 8 * sizeof(Bits) ? ~Bits{0} : (Bits{1} << tap) - 1; }

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
      const Index number = first_pixel + threadIdx.x % kPixelLanes + p * kPixelLanes;
      exists_[p] = number < shape.pixels();
      const Index pixel = exists_[p] ? number : 0;
      const Index image = shape.images == 1 ? 0 : pixel / shape.plane();
      const Index within = pixel - image * shape.plane();
      from_[p] = args.x + static_cast<int>(image * shape.channels * shape.in_plane());
      if (kTaps == 0 && shape.in_plane() == shape.plane()) {  // of 1 x 1: no need to divide
        from_[p] += within;
      } else {
        const int row = static_cast<int>(within / shape.out[1] * shape.stride[0]) - static_cast<int>(shape.pad[0]);
        const int column = static_cast<int>(within % shape.out[1] * shape.stride[1]) - static_cast<int>(shape.pad[1]);
        from_[p] += row * static_cast<int>(shape.in[1]) + column;
        within_[p] = TapsWithin<kTaps>(shape, row, column);
      }
      to_[p] = image * shape.filters * shape.plane() + within;
    }
  }

  __device__ void add(const Entry* entry, const Entry* end) {
    constexpr Index kAhead = kPixels == 4 ? 4 : 8;
    this->template add_products<kAhead>(entry, end, [this](const Entry& of, float(&values)[kPixels]) {
      const Index place = of.place % (1U << kPlaceBits);
      const Bits tap = kTaps == 0 ? 0 : Bits{1} << (of.place >> kPlaceBits);
#pragma unroll
      for (Index p = 0; p < kPixels; ++p) values[p] = within_[p].have(tap) ? from_[p][place] : 0;
    });
  }

 private:
  using Base = PixelSums<kFilters, kPixels>;
  using Base::exists_, Base::to_;

  const float* from_[kPixels]{};
  TapsWithin<kTaps> within_[kPixels];
};

/// `Sums`: WindowSums or QuadSums.
template <class Sums>
__global__ void __launch_bounds__(kPixelThreads, Sums::kFilters == 1 ? 4 : 2)
    pixels_kernel(const __grid_constant__ PixelArgs args) {
  using Entry = typename Sums::Entry;
  constexpr Index kFilters = Sums::kFilters;
  constexpr Index kOfRound = Sums::kPixels * kPixelLanes;
  auto* const shared = dynamic_shared<std::byte>();
  const Index warp = threadIdx.x / kPixelLanes;
  const Index block = blockIdx.x % args.bundle_blocks;
  copy_entries<kFilters>(args, block, shared);
  const Index bundles = kPixelWarps / args.warps;
  const Index share = warp % args.warps;
  const auto* const begins = reinterpret_cast<const Index*>(args.weights) + block * (bundles + 1) + warp / args.warps;
  const Index begin = begins[0];
  const Index count = begins[1] - begin;
  const auto* const entries = reinterpret_cast<const Entry*>(shared) + begin;
  const PixelBundle<kFilters> bundle(args, block * bundles + warp / args.warps);
  const Index first = blockIdx.x / args.bundle_blocks * args.rounds * kOfRound;
  for (Index round = 0; round < args.rounds && first + round * kOfRound < args.shape.pixels(); ++round) {
    Sums sums(args, first + round * kOfRound);
    if (round == 0) {
      async_copy_wait();
      __syncthreads();
      if (!args.x_is_older) wait_for_others();
    }
    if (!args.x_is_older && share == 0) sums.prefetch(args, bundle);
    sums.add(entries + count * share / args.warps, entries + count * (share + 1) / args.warps);
    if (args.x_is_older && round == 0) wait_for_others();
    if (args.warps > 1)
      sums.gather(reinterpret_cast<float*>(shared + pixel_entries_bytes(args.parts.entries * sizeof(Entry))),
                  share == 0 ? args.warps : 0);
    if (share == 0) sums.store(args, bundle);
  }
}

}  // namespace spdnn::cuda
