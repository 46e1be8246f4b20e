#pragma once

// count_kernel: layer 0 on images of bits. It counts the terms of each neuron that are 1, one byte per image and
// neuron.
//
// Mapping. A block stages the bits of a tile of images in shared memory, counts its classes of inputs (CountedLayer),
// one byte per class, and adds each neuron's classes. If classes fill words, a thread counts the 32 classes of a slice
// together, in five bit planes, four words at a time; otherwise a thread counts one class. Blocks are small, so that
// some read while others count. Bound: by traffic, device memory (one read of the bits, one write of the counts); in
// practice, instructions. results/h200/roofline.md has measurements.

#include <cuda_runtime_api.h>

#include <cstdint>

#include "engines/cuda/cascade/planes.cuh"
#include "engines/cuda/cascade/types.hpp"
#include "engines/cuda/runtime/block.cuh"

namespace spdnn::cuda::cascade {

/// Copies the bits of a tile's images to shared memory, each followed by two words of zeros.
__device__ inline void stage_bits(const CountingArgs& c, Index first, std::uint32_t* bits) {
  auto* to = reinterpret_cast<std::uint64_t*>(bits);
  const Index pitch = c.image_pairs + 1;
  const Index lanes = c.image_pairs > 64 ? kCountThreads : c.image_pairs > 16 ? 64 : 16;
  for (Index i = threadIdx.x / lanes; i < c.tile; i += kCountThreads / lanes) {
    const std::size_t image = std::size_t{first} + i;
#pragma unroll 8
    for (Index k = threadIdx.x % lanes; k < c.image_pairs; k += lanes)
      to[i * pitch + k] = image < c.images ? __ldcs(c.image_words + image * c.image_pairs + k) : 0;
  }
  for (Index i = threadIdx.x; i < c.tile; i += kCountThreads) to[i * pitch + c.image_pairs] = 0;
}

/// Counts the classes of a slice together: the k-th inputs of all classes are the bits of one word.
__device__ inline void count_words(const CountingArgs& c, const std::uint32_t* bits, std::uint8_t* classes) {
  for (Index item = threadIdx.x; item < c.class_slices * c.tile; item += kCountThreads) {
    const Index slice = item % c.class_slices;
    const Index image = item / c.class_slices;
    std::uint32_t planes[5] = {};
    for (Index k = 0; k < c.words_per_class; k += 4) {
      std::uint32_t words[4];
#pragma unroll
      for (Index j = 0; j < 4; ++j)
        words[j] = bits[image * c.bits_pitch() + __ldg(c.words + (k + j) * c.class_slices + slice)];
      add_words(words, planes);
    }
    store_planes(planes, classes + image * c.counts_pitch() + 32 * slice);
  }
}

/// Counts the classes one by one: one class of one image per thread.
__device__ inline void count_bits(const CountingArgs& c, const std::uint32_t* bits, std::uint8_t* classes) {
  for (Index item = threadIdx.x; item < 32 * c.class_slices * c.tile; item += kCountThreads) {
    const Index number = item % (32 * c.class_slices);
    const Index image = item / (32 * c.class_slices);
    const Index end = __ldg(c.input_starts + number / 32 + 1);
    Index count = 0;
    for (Index at = __ldg(c.input_starts + number / 32) + number % 32; at < end; at += 32) {
      const Index input = __ldg(c.input_values + at);
      count += bits[image * c.bits_pitch() + input / 32] >> (input % 32) & 1U;
    }
    classes[image * c.counts_pitch() + number] = static_cast<std::uint8_t>(count);
  }
}

/// The counts, one byte each, of the four classes that neurons 4 quad .. 4 quad + 3 read as their k-th.
__device__ inline std::uint32_t counts_of(const CountingArgs& c, Index k, Index quad, const std::uint8_t* counts) {
  const Index run = __ldg(c.runs + k * 8 * c.neuron_slices + quad);
  if (run != CountedLayer::kScattered) {
    const auto* words = reinterpret_cast<const std::uint32_t*>(counts) + run / 4;
    return __byte_perm(words[0], words[1], 0x3210U + run % 4 * 0x1111U);
  }
  const Index at = __ldg(c.class_starts + quad / 8) + 32 * k + quad % 8 * 4;
  const uint4 four = __ldg(reinterpret_cast<const uint4*>(c.class_values + at));
  return counts[four.x] | counts[four.y] << 8U | counts[four.z] << 16U |
         static_cast<std::uint32_t>(counts[four.w]) << 24U;
}

/// Adds each neuron's classes: a thread takes four neurons of two images.
__device__ inline void add_classes(const CountingArgs& c, Index first, const std::uint8_t* classes) {
  const Index quads = 8 * c.neuron_slices;
  const Index lanes = quads > kCountThreads / 2 ? kCountThreads : quads > 32 ? 64 : quads > 8 ? 16 : 8;
  const Index images = min(c.tile, c.images - first);
  for (Index image = threadIdx.x / lanes * 2; image < images; image += 2 * kCountThreads / lanes) {
    const bool two = image + 1 < images;
    const std::uint8_t* counts = classes + image * c.counts_pitch();
    const std::uint8_t* others = two ? counts + c.counts_pitch() : counts;
    auto* to = reinterpret_cast<std::uint32_t*>(c.counts) + (std::size_t{first} + image) * quads;
    for (Index quad = threadIdx.x % lanes; quad < quads; quad += lanes) {
      std::uint32_t sum = 0;
      std::uint32_t other = 0;
      for (Index k = 0; k < c.runs_per_neuron; ++k) {
        sum += counts_of(c, k, quad, counts);
        other += counts_of(c, k, quad, others);
      }
      to[quad] = sum;
      if (two) to[quads + quad] = other;
    }
  }
}

__global__ void __launch_bounds__(kCountThreads) count_kernel(const __grid_constant__ CountingArgs c) {
  auto* bits = dynamic_shared<std::uint32_t>();
#if __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();  // the kernel that follows has something to prepare
#endif
  auto* classes = reinterpret_cast<std::uint8_t*>(bits + std::size_t{c.tile} * c.bits_pitch());
  const Index first = blockIdx.x * c.tile;
  stage_bits(c, first, bits);
  for (Index i = threadIdx.x; i < 4 * c.tile; i += kCountThreads)
    reinterpret_cast<std::uint32_t*>(classes + i / 4 * c.counts_pitch() + 32 * c.class_slices)[i % 4] = 0;
  __syncthreads();
  if (c.words != nullptr)
    count_words(c, bits, classes);
  else
    count_bits(c, bits, classes);
  __syncthreads();
  add_classes(c, first, classes);
}

}  // namespace spdnn::cuda::cascade
