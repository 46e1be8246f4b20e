#pragma once

#include <cstdint>

#include "engines/cuda/layers/layer.hpp"
#include "engines/cuda/runtime/buffer.hpp"

namespace spdnn::cuda {

/// 64 bits in, 64 unlike bits out (splitmix64).
SPDNN_HOST_DEVICE inline std::uint64_t scrambled(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ x >> 30U) * 0xbf58476d1ce4e5b9U;
  x = (x ^ x >> 27U) * 0x94d049bb133111ebU;
  return x ^ x >> 31U;
}

/// One activation's share of its row's hash. Shares are added in any order, and zeros have none, so the hash does not
/// depend on how the row is stored.
SPDNN_HOST_DEVICE inline std::uint64_t hash_share(Index neuron, float y) {
  if (y == 0.0F) return 0;
  union {
    float value;
    std::uint32_t bits;
  } number{y};
  return scrambled(std::uint64_t{neuron} << 32U | number.bits);
}

/// Finds, for each row, the first row of the same hash: candidates for being equal, which the engine compares.
class IdenticalRows {
 public:
  void reserve(Index rows, cudaStream_t stream);

  std::uint64_t* hashes() const { return hashes_[0].data(); }  ///< device: one a row, written by the engine
  /// Device, after find_heads(): the first row of the same hash. The engine replaces it by the row's own number if the
  /// two differ.
  Index* heads() const { return heads_.data(); }
  /// Sorts: some 40 bytes a row, enqueued.
  void find_heads(Index rows, cudaStream_t stream);

  static std::size_t device_bytes(Index rows);

 private:
  DeviceBuffer<std::uint64_t> hashes_[2];
  DeviceBuffer<Index> order_[2];
  DeviceBuffer<Index> heads_;
  DeviceBuffer<std::byte> scratch_;
};

}  // namespace spdnn::cuda
