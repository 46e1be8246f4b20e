#include <algorithm>

#include "engines/cuda/conv_direct/images32.hpp"
#include "engines/cuda/runtime/check.hpp"

namespace spdnn::cuda {

namespace {

constexpr unsigned kSide = 32;  ///< of a tile: images by elements
constexpr unsigned kRows = 8;   ///< of threads

/// A block exchanges images and elements of tiles, 32 elements of 32 images each, in shared memory.
template <bool kToBlocks>
__global__ void __launch_bounds__(kSide* kRows)
    exchange(const float* from, std::size_t images, std::size_t elements, float* to) {
  __shared__ float tile[kSide][kSide + 1];
  const std::size_t across = (elements + kSide - 1) / kSide;
  const std::size_t tiles = (images + kSide - 1) / kSide * across;
  for (std::size_t number = blockIdx.x; number < tiles; number += gridDim.x) {
    const std::size_t first_image = number / across * kSide;
    const std::size_t first_element = number % across * kSide;
    for (unsigned i = threadIdx.y; i < kSide; i += kRows) {
      // A row of the tile is an image of `rows`, or an element of images32.
      const std::size_t image = first_image + (kToBlocks ? i : threadIdx.x);
      const std::size_t element = first_element + (kToBlocks ? threadIdx.x : i);
      const bool exists = element < elements && image < images;
      const std::size_t place =
          kToBlocks ? image * elements + element : (first_image / kSide * elements + element) * kSide + threadIdx.x;
      tile[i][threadIdx.x] = exists ? from[place] : 0.0F;
    }
    __syncthreads();
    for (unsigned i = threadIdx.y; i < kSide; i += kRows) {
      const std::size_t image = first_image + (kToBlocks ? threadIdx.x : i);
      const std::size_t element = first_element + (kToBlocks ? i : threadIdx.x);
      const std::size_t place =
          kToBlocks ? (first_image / kSide * elements + element) * kSide + threadIdx.x : image * elements + element;
      if (element < elements && (kToBlocks || image < images)) to[place] = tile[threadIdx.x][i];
    }
    __syncthreads();
  }
}

template <bool kToBlocks>
void launch_exchange(const float* from, std::size_t images, std::size_t elements, float* to, cudaStream_t stream) {
  const std::size_t tiles = (images + kSide - 1) / kSide * ((elements + kSide - 1) / kSide);
  if (tiles == 0) return;
  exchange<kToBlocks>
      <<<static_cast<unsigned>(std::min<std::size_t>(tiles, 1U << 20U)), dim3(kSide, kRows), 0, stream>>>(from, images,
                                                                                                          elements, to);
  check_launch();
}

constexpr unsigned kWatchedTogether = 32;  ///< tensors of a launch

struct WatchedTensors {
  WatchedTensor all[kWatchedTogether];
};

/// A row of the grid has a tensor. Blocks that a tensor is too small for end at once.
__global__ void look(const __grid_constant__ WatchedTensors tensors, float* beyond) {
  const WatchedTensor& own = tensors.all[blockIdx.y];
  const std::size_t count = (own.images + own.together - 1) / own.together * own.elements * own.together;
  bool within = true;
  for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < count;
       i += std::size_t{gridDim.x} * blockDim.x) {
    const std::size_t image = i / own.together / own.elements * own.together + i % own.together;
    within = within && (image >= own.images || fabsf(own.numbers[i]) <= own.most);
  }
  if (!within) beyond[blockIdx.y] = 1.0F;
}

}  // namespace

void rows_to_images32(const float* rows, std::size_t images, std::size_t elements, float* blocks, cudaStream_t stream) {
  launch_exchange<true>(rows, images, elements, blocks, stream);
}

void images32_to_rows(const float* blocks, std::size_t images, std::size_t elements, float* rows, cudaStream_t stream) {
  launch_exchange<false>(blocks, images, elements, rows, stream);
}

void watch_numbers(const std::vector<WatchedTensor>& tensors, float* beyond, cudaStream_t stream) {
  constexpr unsigned kThreads = 256;
  constexpr std::size_t kOfThread = 4;  // numbers
  check(cudaMemsetAsync(beyond, 0, tensors.size() * sizeof(float), stream));
  for (std::size_t first = 0; first < tensors.size(); first += kWatchedTogether) {
    const std::size_t count = std::min<std::size_t>(kWatchedTogether, tensors.size() - first);
    WatchedTensors some{};
    std::size_t most = 0;
    for (std::size_t i = 0; i < count; ++i) {
      some.all[i] = tensors[first + i];
      most = std::max(most, (some.all[i].images + kSide - 1) * some.all[i].elements);
    }
    const std::size_t across = std::min<std::size_t>(most / kThreads / kOfThread + 1, 2048);
    look<<<dim3(static_cast<unsigned>(across), static_cast<unsigned>(count)), kThreads, 0, stream>>>(some,
                                                                                                     beyond + first);
    check_launch();
  }
}

}  // namespace spdnn::cuda
