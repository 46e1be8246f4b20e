#include <cuda_fp16.h>

#include "engines/cuda/conv_generated/self_test.hpp"
#include "engines/cuda/runtime/buffer.hpp"
#include "engines/cuda/runtime/check.hpp"

namespace spdnn::cuda {

namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kBlocks = 1024;

/// The finaliser of MurmurHash3 (Appleby, 2011), for 64 bits.
__device__ std::uint64_t mixed(std::uint64_t bits) {
  bits = (bits ^ bits >> 33U) * 0xff51afd7ed558ccdU;
  bits = (bits ^ bits >> 33U) * 0xc4ceb9fe1a85ec53U;
  return bits ^ bits >> 33U;
}

__device__ float random_number(std::size_t i, std::uint32_t seed) {
  return static_cast<float>(mixed(i + (std::uint64_t{seed} << 40U)) >> 40U) * 0x1p-24F - 0.25F;
}

__device__ void store_randomly(float* to, std::size_t i, std::uint32_t seed) { *to = random_number(i * 2, seed); }
__device__ void store_randomly(__half2* to, std::size_t i, std::uint32_t seed) {
  *to = __floats2half2_rn(random_number(i * 2, seed), random_number(i * 2 + 1, seed));
}

template <class Word>
__global__ void __launch_bounds__(kThreads) fill_kernel(Word* to, std::size_t count, std::uint32_t seed) {
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step)
    store_randomly(to + i, i, seed);
}

__global__ void __launch_bounds__(kThreads) hash_kernel(const float* from, std::size_t count, unsigned long long* sum) {
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  unsigned long long own = 0;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step)
    own += mixed(mixed(i) + __float_as_uint(from[i]));
  for (unsigned lanes = 16; lanes > 0; lanes /= 2) own += __shfl_xor_sync(0xffffffffU, own, lanes);
  if (threadIdx.x % 32 == 0) atomicAdd(sum, own);
}

}  // namespace

void fill_randomly(float* to, std::size_t count, std::uint32_t seed, cudaStream_t stream) {
  fill_kernel<<<kBlocks, kThreads, 0, stream>>>(to, count, seed);
  check_launch();
}

void fill_randomly_with_halves(float* to, std::size_t count, std::uint32_t seed, cudaStream_t stream) {
  fill_kernel<<<kBlocks, kThreads, 0, stream>>>(reinterpret_cast<__half2*>(to), count, seed);
  check_launch();
}

std::uint64_t hash_of_bits(const float* from, std::size_t count, cudaStream_t stream) {
  DeviceBuffer<unsigned long long> sum(1, stream);
  check(cudaMemsetAsync(sum.data(), 0, sizeof(unsigned long long), stream));
  hash_kernel<<<kBlocks, kThreads, 0, stream>>>(from, count, sum.data());
  check_launch();
  unsigned long long hash = 0;
  check(cudaMemcpyAsync(&hash, sum.data(), sizeof(hash), cudaMemcpyDeviceToHost, stream));
  check(cudaStreamSynchronize(stream));
  return hash;
}

}  // namespace spdnn::cuda
