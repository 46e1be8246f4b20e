// Activations in CSR. Mapping: one warp per row, lanes over its entries. Where entries are dropped, a ballot gives each
// kept one its place. Cost: 8 bytes per entry read, 8 written, coalesced. Bound: memory bandwidth; small beside the
// product.

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

#include <cub/device/device_scan.cuh>
#include <cuda/std/functional>

#include "engines/cuda/layers/equal_rows.hpp"
#include "engines/cuda/retire/row_steps.cuh"
#include "engines/cuda/runtime/check.hpp"
#include "engines/cuda/runtime/launch.hpp"
#include "engines/cuda/spgemm/kernels.hpp"

namespace spdnn::cuda {

namespace {

constexpr unsigned kBlock = 256;
namespace groups = cooperative_groups;

unsigned warps(Index rows) { return blocks_for(std::size_t{rows} * kWarp, kBlock); }

__device__ std::size_t warp_row() { return (std::size_t{blockIdx.x} * blockDim.x + threadIdx.x) / kWarp; }
__device__ unsigned lane() { return threadIdx.x % kWarp; }
__device__ auto warp() { return groups::tiled_partition<kWarp>(groups::this_thread_block()); }

__device__ bool kept(float value, bool filter) { return !filter || value != 0.0F; }

template <bool kWatched>
__global__ void count_kernel(CsrRows<std::uint32_t> products, Index rows, SparseActivation activation,
                             std::uint32_t* counts, std::uint32_t* flags) {
  const std::size_t row = warp_row();
  if (row >= rows) return;
  const Activate<kWatched> step{activation.layer, activation.activation, activation.error_bound};
  const std::uint32_t begin = products.offsets[row];
  const std::uint32_t end = products.offsets[row + 1];
  std::uint32_t stored = 0;
  std::uint32_t bits = 0;
  for (std::uint32_t k = begin + lane(); k < end; k += kWarp) {
    float value = products.values[k];
    bits |= step(value, products.indices[k]);
    if (kept(value, activation.filter)) ++stored;
  }
  stored = groups::reduce(warp(), stored, groups::plus<std::uint32_t>());
  bits = groups::reduce(warp(), bits, groups::bit_or<std::uint32_t>());
  if (end - begin < activation.outputs)
    bits |= flags_of(0.0F, activation.max_bias, activation.activation.cap, activation.error_bound);
  if (lane() != 0) return;
  counts[row] = stored;
  flags[row] = bits;
}

__global__ void store_kernel(CsrRows<std::uint32_t> products, Index rows, SparseActivation activation,
                             CsrRows<Offset> to) {
  const std::size_t row = warp_row();
  if (row >= rows) return;
  const Activate<false> step{activation.layer, activation.activation, activation.error_bound};
  const std::uint32_t begin = products.offsets[row];
  const std::uint32_t length = products.offsets[row + 1] - begin;
  Offset next = to.offsets[row];
  for (std::uint32_t start = 0; start < length; start += kWarp) {
    const std::uint32_t k = begin + start + lane();
    const bool inside = start + lane() < length;
    const Index column = inside ? products.indices[k] : 0;
    float value = inside ? products.values[k] : 0.0F;
    if (inside) step(value, column);
    const bool keeps = inside && kept(value, activation.filter);
    const unsigned keepers = warp().ballot(keeps);
    if (keeps) {
      const Offset place = next + __popc(keepers & ((1U << lane()) - 1U));
      to.indices[place] = column;
      to.values[place] = value;
    }
    next += __popc(keepers);
  }
}

__global__ void localize_kernel(const Offset* global, Index rows, std::uint32_t* local) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i <= rows) local[i] = static_cast<std::uint32_t>(global[i] - global[0]);
}

__global__ void append_ones_kernel(CsrRows<Offset> from, Index rows, Index column, CsrRows<std::uint32_t> to) {
  const std::size_t row = warp_row();
  if (row >= rows) return;
  const Offset begin = from.offsets[row];
  const Offset length = from.offsets[row + 1] - begin;
  const Offset target = begin - from.offsets[0] + row;
  for (Offset k = lane(); k < length; k += kWarp) {
    to.indices[target + k] = from.indices[begin + k];
    to.values[target + k] = from.values[begin + k];
  }
  if (lane() != 0) return;
  to.indices[target + length] = column;
  to.values[target + length] = 1.0F;
  to.offsets[row + 1] = static_cast<std::uint32_t>(target + length + 1);
  if (row == 0) to.offsets[0] = 0;
}

__global__ void hash_rows_kernel(CsrRows<Offset> y, Index rows, std::uint64_t* hashes) {
  const std::size_t row = warp_row();
  if (row >= rows) return;
  std::uint64_t mine = 0;
  for (Offset k = y.offsets[row] + lane(); k < y.offsets[row + 1]; k += kWarp)
    mine += hash_share(y.indices[k], y.values[k]);
  mine = groups::reduce(warp(), mine, groups::plus<std::uint64_t>());
  if (lane() == 0) hashes[row] = mine;
}

__global__ void compare_rows_kernel(CsrRows<Offset> y, Index rows, Index* heads) {
  const std::size_t row = warp_row();
  if (row >= rows || heads[row] == row) return;
  const std::size_t head = heads[row];
  const Offset mine = y.offsets[row];
  const Offset other = y.offsets[head];
  const Offset length = y.offsets[row + 1] - mine;
  bool differs = y.offsets[head + 1] - other != length;
  for (Offset k = lane(); k < length && !differs; k += kWarp)
    differs = y.indices[mine + k] != y.indices[other + k] || y.values[mine + k] != y.values[other + k];
  if (warp().any(differs) && lane() == 0) heads[row] = static_cast<Index>(row);
}

__global__ void count_kept_kernel(const Offset* offsets, const Index* kept_rows, Index count, std::uint32_t* counts) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const std::size_t row = kept_rows[i];
  counts[i] = static_cast<std::uint32_t>(offsets[row + 1] - offsets[row]);
}

__global__ void gather_kernel(CsrRows<Offset> from, const Index* kept_rows, Index count, CsrRows<Offset> to) {
  const std::size_t row = warp_row();
  if (row >= count) return;
  const Offset source = from.offsets[kept_rows[row]];
  const Offset begin = to.offsets[row];
  const Offset length = to.offsets[row + 1] - begin;
  for (Offset k = lane(); k < length; k += kWarp) {
    to.indices[begin + k] = from.indices[source + k];
    to.values[begin + k] = from.values[source + k];
  }
}

__global__ void count_csr_kernel(const Offset* offsets, Index rows, std::uint32_t* counts) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < rows) counts[i] = static_cast<std::uint32_t>(offsets[i + 1] - offsets[i]);
}

__global__ void count_bits_kernel(const std::uint64_t* words, std::size_t words_per_row, Index rows,
                                  std::uint32_t* counts) {
  const std::size_t row = warp_row();
  if (row >= rows) return;
  std::uint32_t bits = 0;
  for (std::size_t word = lane(); word < words_per_row; word += kWarp)
    bits += static_cast<std::uint32_t>(__popcll(words[row * words_per_row + word]));
  bits = groups::reduce(warp(), bits, groups::plus<std::uint32_t>());
  if (lane() == 0) counts[row] = bits;
}

/// Each lane writes the bits of one word, after those of the lanes before it.
__global__ void store_bits_kernel(const std::uint64_t* words, std::size_t words_per_row, Index rows, CsrRows<Offset> to,
                                  std::uint32_t* flags) {
  const std::size_t row = warp_row();
  if (row >= rows) return;
  Offset next = to.offsets[row];
  if (lane() == 0) flags[row] = kMayMiss | (to.offsets[row + 1] > next ? kLives | kMayLive : 0);
  for (std::size_t start = 0; start < words_per_row; start += kWarp) {
    const std::size_t at = start + lane();
    std::uint64_t word = at < words_per_row ? words[row * words_per_row + at] : 0;
    const auto mine = static_cast<unsigned>(__popcll(word));
    const unsigned before = groups::exclusive_scan(warp(), mine);
    for (Offset place = next + before; word != 0; word &= word - 1, ++place) {
      to.indices[place] =
          static_cast<Index>(at * 64 + static_cast<unsigned>(__ffsll(static_cast<long long>(word)) - 1));
      to.values[place] = 1.0F;
    }
    next += warp().shfl(before + mine, kWarp - 1);
  }
}

__global__ void store_csr_kernel(const Offset* offsets, const Index* indices, const float* values, float value,
                                 Index rows, CsrRows<Offset> to, std::uint32_t* flags) {
  const std::size_t row = warp_row();
  if (row >= rows) return;
  std::uint32_t bits = 0;
  const Offset shift = to.offsets[row] - offsets[row];
  for (Offset k = offsets[row] + lane(); k < offsets[row + 1]; k += kWarp) {
    const float y = values != nullptr ? values[k] : value;
    to.indices[k + shift] = indices[k];
    to.values[k + shift] = y;
    if (y != 0.0F) bits = kLives | kMayLive;
  }
  bits = groups::reduce(warp(), bits, groups::bit_or<std::uint32_t>());
  if (lane() == 0) flags[row] = bits | kMayMiss;
}

}  // namespace

void count_products(const CsrRows<std::uint32_t>& products, Index rows, const SparseActivation& activation,
                    std::uint32_t* counts, std::uint32_t* flags, cudaStream_t stream) {
  if (rows == 0) return;
  const auto kernel = activation.activation.watched ? count_kernel<true> : count_kernel<false>;
  kernel<<<warps(rows), kBlock, 0, stream>>>(products, rows, activation, counts, flags);
  check_launch();
}

void store_products(const CsrRows<std::uint32_t>& products, Index rows, const SparseActivation& activation,
                    const CsrRows<Offset>& to, cudaStream_t stream) {
  if (rows == 0) return;
  store_kernel<<<warps(rows), kBlock, 0, stream>>>(products, rows, activation, to);
  check_launch();
}

void localize(const Offset* global, Index rows, std::uint32_t* local, cudaStream_t stream) {
  localize_kernel<<<blocks_for(std::size_t{rows} + 1, kBlock), kBlock, 0, stream>>>(global, rows, local);
  check_launch();
}

void append_ones(const CsrRows<Offset>& from, Index rows, Index column, const CsrRows<std::uint32_t>& to,
                 cudaStream_t stream) {
  if (rows == 0) return;
  append_ones_kernel<<<warps(rows), kBlock, 0, stream>>>(from, rows, column, to);
  check_launch();
}

void hash_rows(const CsrRows<Offset>& y, Index rows, std::uint64_t* hashes, cudaStream_t stream) {
  if (rows == 0) return;
  hash_rows_kernel<<<warps(rows), kBlock, 0, stream>>>(y, rows, hashes);
  check_launch();
}

void compare_rows(const CsrRows<Offset>& y, Index rows, Index* heads, cudaStream_t stream) {
  if (rows == 0) return;
  compare_rows_kernel<<<warps(rows), kBlock, 0, stream>>>(y, rows, heads);
  check_launch();
}

void count_kept(const Offset* offsets, const Index* kept, Index count, std::uint32_t* counts, cudaStream_t stream) {
  if (count == 0) return;
  count_kept_kernel<<<blocks_for(count, kBlock), kBlock, 0, stream>>>(offsets, kept, count, counts);
  check_launch();
}

void gather_rows(const CsrRows<Offset>& from, const Index* kept, Index count, const CsrRows<Offset>& to,
                 cudaStream_t stream) {
  if (count == 0) return;
  gather_kernel<<<warps(count), kBlock, 0, stream>>>(from, kept, count, to);
  check_launch();
}

void count_entries(const DeviceImages& images, std::uint32_t* counts, cudaStream_t stream) {
  const Index rows = images.images();
  if (rows == 0) return;
  if (images.is_bits())
    count_bits_kernel<<<warps(rows), kBlock, 0, stream>>>(images.words(), images.words_per_row(), rows, counts);
  else
    count_csr_kernel<<<blocks_for(rows, kBlock), kBlock, 0, stream>>>(images.offsets(), rows, counts);
  check_launch();
}

void store_images(const DeviceImages& images, const CsrRows<Offset>& to, std::uint32_t* flags, cudaStream_t stream) {
  const Index rows = images.images();
  if (rows == 0) return;
  if (images.is_bits())
    store_bits_kernel<<<warps(rows), kBlock, 0, stream>>>(images.words(), images.words_per_row(), rows, to, flags);
  else
    store_csr_kernel<<<warps(rows), kBlock, 0, stream>>>(images.offsets(), images.indices(), images.values(),
                                                         images.value(), rows, to, flags);
  check_launch();
}

void scan_counts(void* scratch, std::size_t& bytes, const std::uint32_t* counts, Index rows, Offset base,
                 Offset* offsets, cudaStream_t stream) {
  check(cub::DeviceScan::ExclusiveScan(scratch, bytes, counts, offsets, ::cuda::std::plus<>{}, base,
                                       static_cast<std::int64_t>(rows) + 1, stream));
}

}  // namespace spdnn::cuda
