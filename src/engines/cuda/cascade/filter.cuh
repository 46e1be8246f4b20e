#pragma once

// filter_kernel: the filter of a front (front_filter.hpp). It lists the images that live to the end of the front, or
// may, for front_kernel, and counts the others by the layers in which they live.
//
// Work. A warp takes as many images at a time as a team of front_kernel, counts layer 0 in bit planes, and follows the
// images in integers until none is certain to live. Batches take about as long as one another, so they are dealt out in
// turn. A block lists images in shared memory, and reserves their places in device memory once: atomic operations on
// one word of device memory follow one another at a few cycles each.
//
// Mapping. A lane has 32 neighbouring neurons of an image, or 64 or 128 of one with more than 1024, as pairs of 16 bits
// in registers. A layer reads the pair `shift` ahead: another register of the same lane or, of some lane ahead, one
// that is known when the kernel is compiled, as shifts are powers of two.
//
// Bound. Instruction issue; from 65536 inputs on, the reads of the images' bits from device memory.

#include "engines/cuda/cascade/front_counts.cuh"

namespace spdnn::cuda::cascade {

inline constexpr Index kMostKept = 1024;  ///< images that a block lists before it writes to device memory

/// The shared memory of a block.
struct alignas(16) FilterBlock {
  Index kept;                    ///< images, those in `images` first
  Index place;                   ///< in device memory
  Index live[kMostFrontLayers];  ///< images that die later, by layer
  Index images[kMostKept];
};

/// How filter_kernel is launched for images of 1 to 4 words per lane.
template <class Shape>
struct FilterSize {
  static constexpr Index kThreads = 512;                     ///< of a block
  static constexpr Index kBlocks = Shape::kWarps == 1   ? 3  ///< per multiprocessor
                                   : Shape::kWarps == 2 ? 2
                                                        : 1;
};

/// A warp's images on their way through the filter, as one lane sees them. A set of images is a mask of lanes, with the
/// bit of each image's first lane.
template <class Shape>
class FilteredImages {
 public:
  __device__ explicit FilteredImages(const FrontView& front) : front_(front) {}

  /// Those of images first .. first+count-1 that live to the end of the front, or may. Adds to `live_images` how many
  /// of the others live after the layer of this lane's number.
  __device__ std::uint32_t left(Index first, Index count, Index& live_images) {
    std::uint32_t followed = Shape::first_lanes((1U << count) - 1);
    std::uint32_t undecided = 0;
    const Index image = lane_ / kLanes;
    const bool lit = begin(image < count ? first + image : kNoImage);
    followed &= Shape::images_of(__ballot_sync(0xffffffffU, lit));
    for (Index number = 1; number < front_.until && followed != 0; ++number) {
      const std::uint32_t most = add(number, front_.steps[number].shift / 2);
      const auto images_from = [&](std::uint32_t least) {
        return Shape::images_of(__ballot_sync(0xffffffffU, __viaddmin_s16x2_relu(most, least, 0x10001U) != 0));
      };
      const std::uint32_t live = images_from(front_.filter.live[number]);
      const std::uint32_t may_live = images_from(front_.filter.may_live[number]);
      if (lane_ < number) live_images += static_cast<Index>(__popc(followed & ~may_live));
      undecided |= followed & may_live & ~live;
      followed &= live;
    }
    return followed | undecided;
  }

 private:
  static constexpr Index kLanes = std::min(Shape::kWords, 32U);  ///< of an image
  static constexpr Index kWords = Shape::kWarps;                 ///< of a lane
  static constexpr Index kPairs = 16 * kWords;                   ///< likewise

  /// The lane of the same image that is `lanes` ahead.
  __device__ int ahead(Index lanes) const {
    return static_cast<int>((lane_ & ~(kLanes - 1)) | ((lane_ + lanes) & (kLanes - 1)));
  }

  /// Reads an image's bits and runs layer 0. Returns whether some activation of this lane is above 0.
  __device__ bool begin(Index image) {
    std::uint32_t planes[kWords + 1][5];
    std::uint32_t words[kWords][kMostFrontWords];
    read_bits<Shape>(front_, image, lane_ % kLanes, words);
#pragma unroll
    for (Index w = 0; w < kWords; ++w) count_words(words[w], planes[w]);
#pragma unroll
    for (Index b = 0; b < 5; ++b) planes[kWords][b] = __shfl_sync(0xffffffffU, planes[0][b], ahead(1));
    std::uint32_t lit = 0;
#pragma unroll
    for (Index w = 0; w < kWords; ++w) {
      std::uint32_t sums[6];
      add_ahead(planes[w], planes[w + 1], front_.class_shift, sums);
      lit |= at_least(sums, front_.threshold);
      std::uint32_t counts[8];
      counts_of(sums, counts);
#pragma unroll
      for (Index j = 0; j < 16; ++j) {
        const std::uint32_t pair = bytes_as_halves(counts[2 * j % 8], counts[2 * j % 8 + 1], j / 4);
        pairs_[16 * w + j] =
            __viaddmin_s16x2_relu(pair * front_.filter.weight, front_.filter.biases[0], front_.filter.cap);
      }
    }
    return lit != 0;
  }

  /// Runs a layer whose neurons read their own pair and the one that is `shift` pairs ahead. Returns the largest sum of
  /// either half, without the bias.
  template <Index kShift = 1>
  __device__ std::uint32_t add(Index number, Index shift) {
    if constexpr (kShift < kPairs) {
      if (shift != kShift) return add<2 * kShift>(number, shift);
      std::uint32_t next[kShift];
#pragma unroll
      for (Index j = 0; j < kShift; ++j) next[j] = __shfl_sync(0xffffffffU, pairs_[j], ahead(1));
      return add_to_each(number,
                         [&](Index j) { return j + kShift < kPairs ? pairs_[j + kShift] : next[j + kShift - kPairs]; });
    } else {
      const int from = ahead(shift / kPairs);
      return add_to_each(number, [&](Index j) { return __shfl_sync(0xffffffffU, pairs_[j], from); });
    }
  }

  /// Adds `other(j)` to each pair j, from the first to the last.
  template <class Other>
  __device__ std::uint32_t add_to_each(Index number, Other other) {
    const std::uint32_t bias = front_.filter.biases[number];
    const std::uint32_t cap = front_.filter.cap;
    const Index outputs = number + 1 < front_.until ? Shape::kNeurons : front_.outputs;
    std::uint32_t most = 0;
#pragma unroll
    for (Index w = 0; w < kWords; ++w) {
      std::uint32_t most_of_word = 0;
#pragma unroll
      for (Index j = 16 * w; j < 16 * w + 16; j += 2) {
        const std::uint32_t first = pairs_[j] + other(j);
        const std::uint32_t second = pairs_[j + 1] + other(j + 1);
        most_of_word = __vimax3_u16x2(most_of_word, first, second);
        pairs_[j] = __viaddmin_s16x2_relu(first, bias, cap);
        pairs_[j + 1] = __viaddmin_s16x2_relu(second, bias, cap);
      }
      if (32 * (lane_ % kLanes * kWords + w) < outputs) most = __vimax3_u16x2(most, most_of_word, 0);
    }
    return most;
  }

  const FrontView& front_;
  const Index lane_ = threadIdx.x % 32;
  std::uint32_t pairs_[kPairs];  ///< after the latest layer
};

/// Lists the images of a set, of which the first is `first`. By one warp.
template <class Shape>
__device__ void keep(const KeptImages& kept, FilterBlock& block, Index first, std::uint32_t set) {
  if (set == 0) return;
  const Index lane = threadIdx.x % 32;
  Index place = lane == 0 ? atomicAdd(&block.kept, static_cast<Index>(__popc(set))) : 0;
  place = __shfl_sync(0xffffffffU, place, 0) + static_cast<Index>(__popc(set & ((1U << lane) - 1)));
  if ((set >> lane & 1U) == 0) return;
  const Index image = first + lane / Shape::kLanes;
  if (place < kMostKept)
    block.images[place] = image;
  else
    kept.images[atomicAdd(kept.count, 1U)] = image;
}

template <Index kLog>
__global__ void __launch_bounds__(FilterSize<FrontShape<kLog>>::kThreads, FilterSize<FrontShape<kLog>>::kBlocks)
    filter_kernel(const __grid_constant__ FrontView front, const __grid_constant__ LaunchArgs args) {
  using Shape = FrontShape<kLog>;
  constexpr Index kWarps = FilterSize<Shape>::kThreads / 32;
  auto& block = *dynamic_shared<FilterBlock>();
#if __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
#endif
  if (threadIdx.x == 0) block.kept = 0;
  if (threadIdx.x < kMostFrontLayers) block.live[threadIdx.x] = 0;
  __syncthreads();
  Index live_images = 0;  // that die later, after the layer of this lane's number
  const Index batches = (args.images - 1) / Shape::kImages + 1;
  for (Index batch = threadIdx.x / 32 * gridDim.x + blockIdx.x; batch < batches; batch += kWarps * gridDim.x) {
    const Index first = batch * Shape::kImages;
    FilteredImages<Shape> images(front);
    const std::uint32_t left = images.left(first, min(args.images - first, Shape::kImages), live_images);
    keep<Shape>(front.kept, block, first, left);
  }
  const Index lane = threadIdx.x % 32;
  if (lane < front.until && live_images > 0) atomicAdd(&block.live[lane], live_images);
  __syncthreads();
  const Index kept = min(block.kept, kMostKept);
  if (threadIdx.x == 0 && kept > 0) block.place = atomicAdd(front.kept.count, kept);
  if (threadIdx.x < front.until && block.live[threadIdx.x] > 0)
    atomicAdd(&args.tallies[threadIdx.x].live, block.live[threadIdx.x]);
  __syncthreads();
  for (Index i = threadIdx.x; i < kept; i += blockDim.x) front.kept.images[block.place + i] = block.images[i];
}

}  // namespace spdnn::cuda::cascade
