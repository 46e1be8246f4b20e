// Rows of equal hash, by sorting: CUB's radix sort is stable, so the first of each run is the row of lowest number; a
// running maximum over the start positions of runs gives each row the start of its run.

#include <algorithm>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <cuda/functional>

#include "engines/cuda/layers/equal_rows.hpp"
#include "engines/cuda/runtime/check.hpp"
#include "engines/cuda/runtime/launch.hpp"

namespace spdnn::cuda {

namespace {

constexpr unsigned kBlock = 256;

__global__ void number_kernel(Index* order, Index rows) {
  const Index row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < rows) order[row] = row;
}

__global__ void run_starts_kernel(const std::uint64_t* sorted, Index rows, Index* starts) {
  const Index place = blockIdx.x * blockDim.x + threadIdx.x;
  if (place >= rows) return;
  starts[place] = place > 0 && sorted[place] != sorted[place - 1] ? place : 0;
}

__global__ void heads_kernel(const Index* order, const Index* starts, Index rows, Index* heads) {
  const Index place = blockIdx.x * blockDim.x + threadIdx.x;
  if (place < rows) heads[order[place]] = order[starts[place]];
}

/// With a null `scratch`, only sets `bytes`.
void sort(void* scratch, std::size_t& bytes, const std::uint64_t* hashes, std::uint64_t* sorted, const Index* numbers,
          Index* order, Index rows, cudaStream_t stream) {
  check(cub::DeviceRadixSort::SortPairs(scratch, bytes, hashes, sorted, numbers, order, static_cast<std::int64_t>(rows),
                                        0, 64, stream));
}

void running_maximum(void* scratch, std::size_t& bytes, const Index* from, Index* to, Index rows, cudaStream_t stream) {
  check(cub::DeviceScan::InclusiveScan(scratch, bytes, from, to, ::cuda::maximum<>{}, static_cast<std::int64_t>(rows),
                                       stream));
}

}  // namespace

void IdenticalRows::reserve(Index rows, cudaStream_t stream) {
  for (auto& buffer : hashes_) buffer.reserve(rows, stream);
  for (auto& buffer : order_) buffer.reserve(rows, stream);
  heads_.reserve(rows, stream);
  std::size_t sort_bytes = 0;
  std::size_t scan_bytes = 0;
  sort(nullptr, sort_bytes, nullptr, nullptr, nullptr, nullptr, rows, stream);
  running_maximum(nullptr, scan_bytes, nullptr, nullptr, rows, stream);
  scratch_.reserve(std::max(sort_bytes, scan_bytes), stream);
}

void IdenticalRows::find_heads(Index rows, cudaStream_t stream) {
  if (rows == 0) return;
  const unsigned blocks = blocks_for(rows, kBlock);
  Index* const numbers = order_[0].data();
  Index* const order = order_[1].data();
  number_kernel<<<blocks, kBlock, 0, stream>>>(numbers, rows);
  check_launch();
  std::size_t bytes = scratch_.bytes();
  sort(scratch_.data(), bytes, hashes_[0].data(), hashes_[1].data(), numbers, order, rows, stream);
  Index* const starts = numbers;  // read no more
  run_starts_kernel<<<blocks, kBlock, 0, stream>>>(hashes_[1].data(), rows, starts);
  check_launch();
  bytes = scratch_.bytes();
  running_maximum(scratch_.data(), bytes, starts, starts, rows, stream);
  heads_kernel<<<blocks, kBlock, 0, stream>>>(order, starts, rows, heads_.data());
  check_launch();
}

std::size_t IdenticalRows::device_bytes(Index rows) {
  // The scratch of the sort holds a copy of keys and values.
  return std::size_t{rows} * (3 * sizeof(std::uint64_t) + 4 * sizeof(Index)) + (std::size_t{1} << 20U);
}

}  // namespace spdnn::cuda
