// Bias, ReLU, cap, flags and moving of densely held images. All are bound by memory bandwidth: each activation is read
// once and written once.
//
// By image: one block per image, its threads over the neurons, 16 bytes of them at a time; flags by a block-wide OR.
// By neuron: one thread per image and kNeuronsPerThread neurons, so that a warp touches 128 contiguous bytes per
// neuron; flags by one atomic OR per thread.

#include <algorithm>
#include <cub/block/block_reduce.cuh>

#include "engines/cuda/layers/equal_rows.hpp"
#include "engines/cuda/layers/stored.cuh"
#include "engines/cuda/retire/row_kernels.hpp"
#include "engines/cuda/retire/row_steps.cuh"
#include "engines/cuda/runtime/check.hpp"
#include "engines/cuda/runtime/launch.hpp"

namespace spdnn::cuda {

namespace {

constexpr unsigned kBlock = 256;
constexpr unsigned kNeuronsPerThread = 32;
static_assert(kBlock % 32 == 0);

/// kWide neighbouring neurons per thread and access.
template <Index kWide, class Step, class Stored>
__global__ void by_image_kernel(const Stored* from, Stored* to, Index neurons, Step step, std::uint32_t* flags) {
  struct alignas(kWide * sizeof(Stored)) Pack {
    Stored values[kWide];
  };
  const std::size_t row = std::size_t{blockIdx.x} * neurons;
  const auto* source = reinterpret_cast<const Pack*>(from + row);
  std::uint32_t mine = 0;
  for (Index i = threadIdx.x; i < neurons / kWide; i += blockDim.x) {
    Pack pack = source[i];
#pragma unroll
    for (Index k = 0; k < kWide; ++k) {
      float value = to_float(pack.values[k]);
      mine |= step(value, i * kWide + k);
      pack.values[k] = to_stored<Stored>(value);
    }
    if (to != nullptr) reinterpret_cast<Pack*>(to + row)[i] = pack;
  }
  std::uint32_t all = 0;
  for (const std::uint32_t bit : {kLives, kMayLive, kMayMiss})
    if (__syncthreads_or(static_cast<int>(mine & bit)) != 0) all |= bit;
  if (Step::kWatches && __syncthreads_or(static_cast<int>(mine & kOverflowed)) != 0) all |= kOverflowed;
  if (threadIdx.x == 0) flags[blockIdx.x] = all;
}

/// 16 bytes per access where rows begin on a 16-byte bound; no more threads than have work.
template <class Step, class Stored>
void launch_by_image(const Stored* from, Stored* to, Index images, Index neurons, Step step, std::uint32_t* flags,
                     cudaStream_t stream) {
  constexpr Index kWide = 16 / sizeof(Stored);
  const auto threads = [](Index accesses) { return std::clamp((accesses + 31) / 32 * 32, 32U, kBlock); };
  if (neurons % kWide == 0)
    by_image_kernel<kWide><<<images, threads(neurons / kWide), 0, stream>>>(from, to, neurons, step, flags);
  else
    by_image_kernel<1><<<images, threads(neurons), 0, stream>>>(from, to, neurons, step, flags);
}

template <class Step, class Stored>
__global__ void by_neuron_kernel(const Stored* from, Stored* to, Index images, Index neurons, Step step,
                                 std::uint32_t* flags) {
  const std::size_t image = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (image >= images) return;
  std::uint32_t mine = 0;
  for (std::size_t chunk = std::size_t{blockIdx.y} * kNeuronsPerThread; chunk < neurons;
       chunk += std::size_t{gridDim.y} * kNeuronsPerThread) {
    const Index end = static_cast<Index>(min(chunk + kNeuronsPerThread, std::size_t{neurons}));
    for (Index neuron = static_cast<Index>(chunk); neuron < end; ++neuron) {
      const std::size_t at = std::size_t{neuron} * images + image;
      float value = to_float(from[at]);
      mine |= step(value, neuron);
      if (to != nullptr) to[at] = to_stored<Stored>(value);
    }
  }
  if (mine != 0) atomicOr(flags + image, mine);
}

template <class Step, class Stored>
void for_each_activation(Layout layout, const Stored* from, Stored* to, Index images, Index neurons, Step step,
                         std::uint32_t* flags, cudaStream_t stream) {
  if (images == 0) return;
  if (layout == Layout::by_image) {
    launch_by_image(from, to, images, neurons, step, flags, stream);
  } else {
    check(cudaMemsetAsync(flags, 0, std::size_t{images} * sizeof(*flags), stream));
    if (neurons == 0) return;
    const dim3 grid(blocks_for(images, kBlock), std::min(blocks_for(neurons, kNeuronsPerThread), kMaxGridY));
    by_neuron_kernel<<<grid, kBlock, 0, stream>>>(from, to, images, neurons, step, flags);
  }
  check_launch();
}

template <class Stored>
__global__ void gather_by_image_kernel(const Stored* from, const Index* kept, Index neurons, Stored* to) {
  const Stored* source = from + std::size_t{kept[blockIdx.x]} * neurons;
  Stored* target = to + std::size_t{blockIdx.x} * neurons;
  for (Index neuron = threadIdx.x; neuron < neurons; neuron += blockDim.x) target[neuron] = source[neuron];
}

template <class Stored>
__global__ void gather_by_neuron_kernel(const Stored* from, Index images, const Index* kept, Index count, Index neurons,
                                        Stored* to) {
  const std::size_t image = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (image >= count) return;
  const std::size_t source = kept[image];
  for (Index neuron = blockIdx.y; neuron < neurons; neuron += gridDim.y)
    to[std::size_t{neuron} * count + image] = from[std::size_t{neuron} * images + source];
}

template <class Stored>
__global__ void hash_by_image_kernel(const Stored* y, Index neurons, std::uint64_t* hashes) {
  using Reduce = cub::BlockReduce<std::uint64_t, kBlock>;
  __shared__ typename Reduce::TempStorage shared;
  const std::size_t row = std::size_t{blockIdx.x} * neurons;
  std::uint64_t mine = 0;
  for (Index neuron = threadIdx.x; neuron < neurons; neuron += blockDim.x)
    mine += hash_share(neuron, to_float(y[row + neuron]));
  const std::uint64_t hash = Reduce(shared).Sum(mine);
  if (threadIdx.x == 0) hashes[blockIdx.x] = hash;
}

template <class Stored>
__global__ void hash_by_neuron_kernel(const Stored* y, Index images, Index neurons, unsigned long long* hashes) {
  const std::size_t image = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (image >= images) return;
  std::uint64_t mine = 0;
  for (Index neuron = blockIdx.y; neuron < neurons; neuron += gridDim.y)
    mine += hash_share(neuron, to_float(y[std::size_t{neuron} * images + image]));
  atomicAdd(hashes + image, static_cast<unsigned long long>(mine));
}

template <class Stored>
__global__ void compare_by_image_kernel(const Stored* y, Index neurons, Index* heads) {
  const Index head = heads[blockIdx.x];
  if (head == blockIdx.x) return;
  const Stored* mine = y + std::size_t{blockIdx.x} * neurons;
  const Stored* other = y + std::size_t{head} * neurons;
  int differs = 0;
  for (Index neuron = threadIdx.x; neuron < neurons; neuron += blockDim.x)
    if (to_float(mine[neuron]) != to_float(other[neuron])) differs = 1;
  if (__syncthreads_or(differs) != 0 && threadIdx.x == 0) heads[blockIdx.x] = blockIdx.x;
}

/// Several threads of one image may find a difference; all write the same value.
template <class Stored>
__global__ void compare_by_neuron_kernel(const Stored* y, Index images, Index neurons, Index* heads) {
  const std::size_t image = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (image >= images) return;
  const std::size_t head = heads[image];
  if (head == image) return;
  for (Index neuron = blockIdx.y; neuron < neurons; neuron += gridDim.y) {
    const Stored* row = y + std::size_t{neuron} * images;
    if (to_float(row[image]) != to_float(row[head])) heads[image] = static_cast<Index>(image);
  }
}

/// Enough blocks in y to fill the device, few enough that each thread processes several neurons.
dim3 strips(Index images, Index neurons) {
  return {blocks_for(images, kBlock), std::clamp(neurons / kNeuronsPerThread, 1U, kMaxGridY)};
}

}  // namespace

template <class Stored>
void activate(Layout layout, const Stored* z, Stored* y, Index images, const DeviceLayer& layer, Activation activation,
              float error_bound, std::uint32_t* flags, cudaStream_t stream) {
  const auto run = [&](auto step) { for_each_activation(layout, z, y, images, layer.outputs, step, flags, stream); };
  if (activation.watched)
    run(Activate<true>{layer, activation, error_bound});
  else
    run(Activate<false>{layer, activation, error_bound});
}

template <class Stored>
void flag_rows(Layout layout, const Stored* y, Index images, Index neurons, float cap, std::uint32_t* flags,
               cudaStream_t stream) {
  for_each_activation(layout, y, static_cast<Stored*>(nullptr), images, neurons, Inspect{cap}, flags, stream);
}

template <class Stored>
void gather_images(Layout layout, const Stored* from, Index images, const Index* kept, Index count, Index neurons,
                   Stored* to, cudaStream_t stream) {
  if (count == 0 || neurons == 0) return;
  if (layout == Layout::by_image)
    gather_by_image_kernel<<<count, kBlock, 0, stream>>>(from, kept, neurons, to);
  else
    gather_by_neuron_kernel<<<dim3(blocks_for(count, kBlock), std::min(neurons, kMaxGridY)), kBlock, 0, stream>>>(
        from, images, kept, count, neurons, to);
  check_launch();
}

template <class Stored>
void hash_images(Layout layout, const Stored* y, Index images, Index neurons, std::uint64_t* hashes,
                 cudaStream_t stream) {
  if (images == 0) return;
  if (layout == Layout::by_image) {
    hash_by_image_kernel<<<images, kBlock, 0, stream>>>(y, neurons, hashes);
  } else {
    check(cudaMemsetAsync(hashes, 0, std::size_t{images} * sizeof(*hashes), stream));
    static_assert(sizeof(unsigned long long) == sizeof(std::uint64_t));
    hash_by_neuron_kernel<<<strips(images, neurons), kBlock, 0, stream>>>(
        y, images, neurons, reinterpret_cast<unsigned long long*>(hashes));
  }
  check_launch();
}

template <class Stored>
void compare_images(Layout layout, const Stored* y, Index images, Index neurons, Index* heads, cudaStream_t stream) {
  if (images == 0) return;
  if (layout == Layout::by_image)
    compare_by_image_kernel<<<images, kBlock, 0, stream>>>(y, neurons, heads);
  else
    compare_by_neuron_kernel<<<strips(images, neurons), kBlock, 0, stream>>>(y, images, neurons, heads);
  check_launch();
}

#define SPDNN_ROW_KERNELS(Stored)                                                                                      \
  template void activate(Layout, const Stored*, Stored*, Index, const DeviceLayer&, Activation, float, std::uint32_t*, \
                         cudaStream_t);                                                                                \
  template void flag_rows(Layout, const Stored*, Index, Index, float, std::uint32_t*, cudaStream_t);                   \
  template void gather_images(Layout, const Stored*, Index, const Index*, Index, Index, Stored*, cudaStream_t);        \
  template void hash_images(Layout, const Stored*, Index, Index, std::uint64_t*, cudaStream_t);                        \
  template void compare_images(Layout, const Stored*, Index, Index, Index*, cudaStream_t);
SPDNN_ROW_KERNELS(float)
SPDNN_ROW_KERNELS(__half)
#undef SPDNN_ROW_KERNELS

}  // namespace spdnn::cuda
