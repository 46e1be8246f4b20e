#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <functional>

/// The threads of a block as fibers; see cuda_runtime_api.h beside this file.
namespace emulation {

struct Index3 {
  unsigned x = 0, y = 0, z = 0;
};
const Index3& thread_index();
const Index3& block_index();
const Index3& grid();
const Index3& block();

/// Runs `kernel` in all threads of all blocks. `threads`: a multiple of 32. std::logic_error if they wait for one
/// another, or for a later block, for ever.
void launch(unsigned blocks, unsigned threads, std::size_t shared_bytes, const std::function<void()>& kernel);

/// The dynamic shared memory of the running block.
std::byte* dynamic_shared();

/// Yields to the other threads; for a thread that polls memory.
void pause();

/// Waits for all threads of the block that have not ended; returns the OR of their values.
int barrier(int value);

/// Waits at the barrier of that number for `threads` threads.
void barrier_of(unsigned number, unsigned threads);

/// Waits for all threads of the warp; returns the bits of all their values, by lane.
std::array<unsigned long long, 32> exchange_bits(unsigned long long bits);

template <class T>
std::array<T, 32> exchange(T value) {
  static_assert(sizeof(T) <= sizeof(unsigned long long));
  unsigned long long bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  const auto all_bits = exchange_bits(bits);
  std::array<T, 32> all;
  for (std::size_t lane = 0; lane < 32; ++lane) std::memcpy(&all[lane], &all_bits[lane], sizeof value);
  return all;
}

}  // namespace emulation
