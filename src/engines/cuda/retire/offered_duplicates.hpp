#pragma once

#include <cstdint>
#include <map>

#include "core/types/plan.hpp"
#include "engines/cuda/retire/duplicate_search.hpp"
#include "engines/cuda/runtime/buffer.hpp"

namespace spdnn::cuda {

/// Memory of the pass for a batch; without the pass there is none.
class DuplicateBuffers {
 public:
  /// `sides`: 1 or 2.
  void reserve(const Plan& plan, Index images, Index sides, cudaStream_t stream);
  /// Bytes of DuplicateSearch::tables, which the engine clears before the first search, and of zero_at, which it clears
  /// before each run. 0 without the pass.
  std::size_t table_bytes() const { return on_ ? sides_ * sizes_.table_bytes() : 0; }
  std::size_t zero_bytes() const { return on_ ? sizes_.zero_bytes() : 0; }
  /// `tables`: on an 8-byte bound. The engine clears `listed` and `duplicates` before each run, too.
  DuplicateSearch view(std::byte* tables, std::byte* zero_at, unsigned long long* listed, Index* duplicates) const;
  /// Waits: the images in the first `entries` of the list, each with its owner, which is not a duplicate.
  std::map<Index, Index> owners(Index entries, cudaStream_t stream) const;

  static std::size_t device_bytes(const Plan& plan, Index images, Index sides);

 private:
  bool on_ = false;
  Index sides_ = 0;
  DuplicateSearchSizes sizes_;
  DeviceBuffer<std::uint32_t> hashes_[2];
  DeviceBuffer<Duplicate> list_;
  DeviceBuffer<Ending> endings_;
};

}  // namespace spdnn::cuda
