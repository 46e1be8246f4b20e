// Input images: upload, and expansion into dense activations.
//
// Bits by image: one block per image, one thread per neuron, each word read by 64 threads from L1. Bits by neuron: one
// thread per word of an image, so that neighbouring threads write neighbouring images. CSR: zeros, to which one warp
// per image adds its entries atomically, as neurons may repeat.

#include <algorithm>

#include "engines/cuda/layers/images.hpp"
#include "engines/cuda/layers/stored.cuh"
#include "engines/cuda/runtime/check.hpp"
#include "engines/cuda/runtime/launch.hpp"
#include "engines/cuda/runtime/staging.hpp"

namespace spdnn::cuda {

namespace {

constexpr unsigned kBlock = 256;

__device__ float bit(const std::uint64_t* row, Index neuron) {
  return (row[neuron / 64] >> (neuron % 64) & 1U) != 0 ? 1.0F : 0.0F;
}

template <class Stored>
__global__ void expand_bits_by_image(const std::uint64_t* words, std::size_t words_per_row, Index neurons, Stored* to) {
  const std::uint64_t* row = words + blockIdx.x * words_per_row;
  Stored* target = to + std::size_t{blockIdx.x} * neurons;
  for (Index neuron = threadIdx.x; neuron < neurons; neuron += blockDim.x)
    target[neuron] = to_stored<Stored>(bit(row, neuron));
}

template <class Stored>
__global__ void expand_bits_by_neuron(const std::uint64_t* words, std::size_t words_per_row, Index count, Index neurons,
                                      Stored* to) {
  const std::size_t image = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (image >= count) return;
  for (std::size_t word = blockIdx.y; word < words_per_row; word += gridDim.y) {
    const std::uint64_t bits = words[image * words_per_row + word];
    const std::size_t end = min(std::size_t{neurons}, (word + 1) * 64);
    for (std::size_t neuron = word * 64; neuron < end; ++neuron)
      to[neuron * count + image] = to_stored<Stored>((bits >> (neuron % 64) & 1U) != 0 ? 1.0F : 0.0F);
  }
}

/// Adds entry (image, neuron) at image * image_stride + neuron * neuron_stride.
template <class Stored>
__global__ void expand_csr(const Offset* offsets, const Index* indices, const float* values, float value, Index count,
                           std::size_t image_stride, std::size_t neuron_stride, Stored* to) {
  const std::size_t image = (std::size_t{blockIdx.x} * blockDim.x + threadIdx.x) / kWarp;
  if (image >= count) return;
  for (Offset k = offsets[image] + threadIdx.x % kWarp; k < offsets[image + 1]; k += kWarp)
    atomicAdd(to + image * image_stride + indices[k] * neuron_stride,
              to_stored<Stored>(values != nullptr ? values[k] : value));
}

}  // namespace

void DeviceImages::load(const ImageSet& images, cudaStream_t stream) {
  Staging staging;
  images_ = images.images();
  neurons_ = images.neurons();
  is_bits_ = images.is_bits();
  const CsrMatrix sparse = is_bits_ ? CsrMatrix{} : images.sparse();
  staging.upload(words_, is_bits_ ? images.bits().words : Array<std::uint64_t>(), stream);
  staging.upload(offsets_, sparse.offsets, stream);
  staging.upload(indices_, sparse.indices, stream);
  staging.upload(values_, sparse.values, stream);
  value_ = sparse.value;
}

template <class Stored>
void DeviceImages::expand(Layout layout, Index first, Index count, Stored* to, cudaStream_t stream) const {
  if (count == 0 || neurons_ == 0) return;
  const bool by_image = layout == Layout::by_image;
  if (is_bits()) {
    const std::uint64_t* words = words_.data() + first * words_per_row();
    const auto word_blocks = static_cast<unsigned>(std::min<std::size_t>(words_per_row(), kMaxGridY));
    if (by_image)
      expand_bits_by_image<<<count, kBlock, 0, stream>>>(words, words_per_row(), neurons_, to);
    else
      expand_bits_by_neuron<<<dim3(blocks_for(count, kBlock), word_blocks), kBlock, 0, stream>>>(words, words_per_row(),
                                                                                                 count, neurons_, to);
  } else {
    check(cudaMemsetAsync(to, 0, std::size_t{count} * neurons_ * sizeof(Stored), stream));
    expand_csr<<<blocks_for(std::size_t{count} * kWarp, kBlock), kBlock, 0, stream>>>(
        offsets_.data() + first, indices_.data(), values_.data(), value_, count, by_image ? neurons_ : 1,
        by_image ? 1 : count, to);
  }
  check_launch();
}

template void DeviceImages::expand(Layout, Index, Index, float*, cudaStream_t) const;
template void DeviceImages::expand(Layout, Index, Index, __half*, cudaStream_t) const;

}  // namespace spdnn::cuda
