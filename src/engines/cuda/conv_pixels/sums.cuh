#pragma once

// What the kernels of conv_pixels share: entries in shared memory, and the sums of a lane's pixels.

#include "engines/cuda/conv_direct/functions.cuh"
#include "engines/cuda/conv_pixels/pixels.hpp"
#include "engines/cuda/runtime/block.cuh"
#include "engines/cuda/runtime/overlap.cuh"

namespace spdnn::cuda {

struct PixelArgs {
  PixelShape shape;
  Index warps;   ///< of a bundle
  Index rounds;  ///< of pixels of a block
  Index bundle_blocks;
  const std::byte* weights;
  PixelParts parts;
  const float* x;
  bool x_is_older;  ///< than the kernel before
  float* y;
  Functions functions;
};

/// Before anything is read or written that the kernel before may write or read. The next kernel begins only then, as it
/// may rely on all kernels but this one.
__device__ inline void wait_for_others() {
  wait_for_kernel_before();
  let_next_kernel_begin();
}

/// An entry in shared memory.
template <Index kFilters>
struct alignas((kFilters + 1) * 4 < 16 ? 8 : 16) PixelEntry {
  std::uint32_t place;
  float weights[kFilters];
};

/// Copies the entries of a block to shared memory.
template <Index kFilters>
__device__ void copy_entries(const PixelArgs& args, Index block, std::byte* to) {
  constexpr Index kPiece = alignof(PixelEntry<kFilters>);
  const Index bytes = args.parts.entries * sizeof(PixelEntry<kFilters>);
  const std::byte* const from = args.weights + args.parts.words + std::size_t{block} * bytes;
  for (Index i = threadIdx.x * kPiece; i < bytes; i += blockDim.x * kPiece) async_copy<kPiece>(to + i, from + i);
}

/// The filters of a warp's bundle, and their biases.
template <Index kFilters>
struct PixelBundle {
  Index filters[kFilters];
  float bias[kFilters];

  __device__ PixelBundle(const PixelArgs& args, Index number) {
    const auto* const all = reinterpret_cast<const Index*>(args.weights + args.parts.filters) + number * kFilters;
    const auto* const biases = reinterpret_cast<const float*>(args.weights + args.parts.bias);
    for (Index f = 0; f < kFilters; ++f) {
      filters[f] = all[f];
      bias[f] = filters[f] == kNobody ? 0 : biases[filters[f]];
    }
  }
};

/// A lane's sums for a bundle's filters, and where they go.
template <Index kFiltersOfBundle, Index kPixelsOfLane>
class PixelSums {
 public:
  static constexpr Index kFilters = kFiltersOfBundle;
  static constexpr Index kPixels = kPixelsOfLane;
  using Entry = PixelEntry<kFilters>;

  /// Has what store() will read ready.
  __device__ void prefetch(const PixelArgs& args, const PixelBundle<kFilters>& bundle) const {
    for (Index i = 0; i < args.functions.count; ++i) {
      if (args.functions.all[i].kind != Function::Kind::addition) continue;
      for (Index f = 0; f < kFilters; ++f)
        for (Index p = 0; p < kPixels; ++p)
          if (exists_[p] && bundle.filters[f] != kNobody)
            prefetch_to_l1(args.functions.all[i].other + to_[p] + bundle.filters[f] * args.shape.plane());
    }
  }

  /// Adds the sums of the bundle's other warps, which follow one another, through shared memory.
  __device__ void gather(float* shared, Index warps) {
    constexpr Index kSums = kFilters * kPixels * kPixelLanes;
    float* const own = shared + threadIdx.x / kPixelLanes * kSums + threadIdx.x % kPixelLanes;
    __syncthreads();  // those of the round before have been read
    for (Index f = 0; f < kFilters; ++f)
      for (Index p = 0; p < kPixels; ++p) own[(f * kPixels + p) * kPixelLanes] = sums_[f][p];
    __syncthreads();
    for (Index w = 1; w < warps; ++w)
      for (Index f = 0; f < kFilters; ++f)
        for (Index p = 0; p < kPixels; ++p) sums_[f][p] += own[w * kSums + (f * kPixels + p) * kPixelLanes];
  }

  __device__ void store(const PixelArgs& args, const PixelBundle<kFilters>& bundle) {
    for_each_sum(args, bundle, [&](float& sum, Index, Index f) { sum += bundle.bias[f]; });
    with_functions(args.functions, [&](const auto& function) {
      for_each_sum(args, bundle, [&](float& sum, Index to, Index) { sum = function(sum, to); });
    });
    for_each_sum(args, bundle, [&](float sum, Index to, Index) { args.y[to] = sum; });
  }

 protected:
  /// Adds the products of entries; the reads of kAhead of them are under way together. read(entry, values) reads what
  /// an entry multiplies, for each of the lane's pixels.
  template <Index kAhead, class Read>
  __device__ void add_products(const Entry* entry, const Entry* end, const Read& read) {
    for (; entry + kAhead <= end; entry += kAhead) add_some<kAhead>(entry, kAhead, read);
    if (entry < end) add_some<kAhead>(entry, static_cast<Index>(end - entry), read);
  }

  float sums_[kFilters][kPixels]{};
  Index to_[kPixels]{};
  bool exists_[kPixels]{};

 private:
  /// Of kAhead entries, the first `count`.
  template <Index kAhead, class Read>
  __device__ void add_some(const Entry* entries, Index count, const Read& read) {
    float values[kAhead][kPixels]{};
#pragma unroll
    for (Index i = 0; i < kAhead; ++i)
      if (i < count) read(entries[i], values[i]);
#pragma unroll
    for (Index i = 0; i < kAhead; ++i) {
      if (i >= count) break;
#pragma unroll
      for (Index f = 0; f < kFilters; ++f)
#pragma unroll
        for (Index p = 0; p < kPixels; ++p) sums_[f][p] = fmaf(entries[i].weights[f], values[i][p], sums_[f][p]);
    }
  }

  /// Calls work(sum, place in the output, filter of the bundle) for all that exist.
  template <class Work>
  __device__ void for_each_sum(const PixelArgs& args, const PixelBundle<kFilters>& bundle, const Work& work) {
#pragma unroll
    for (Index f = 0; f < kFilters; ++f)
#pragma unroll
      for (Index p = 0; p < kPixels; ++p)
        if (exists_[p] && bundle.filters[f] != kNobody)
          work(sums_[f][p], to_[p] + bundle.filters[f] * args.shape.plane(), f);
  }
};

}  // namespace spdnn::cuda
