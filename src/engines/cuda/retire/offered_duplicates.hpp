#pragma once

#include <cstdint>
#include <vector>

#include "engines/cuda/retire/duplicate_search.hpp"
#include "engines/cuda/runtime/buffer.hpp"
#include "spdnn/plan.hpp"

namespace spdnn::cuda {

/// Memory of the pass for a batch; without the pass there is none.
class DuplicateBuffers {
 public:
  /// `sides`: 1 or 2.
  void reserve(const Plan& plan, Index images, Index sides, cudaStream_t stream);
  /// What the engine has for the pass and clears before each run, in bytes.
  std::size_t cleared_bytes() const { return on_ ? sides_ * table_bytes() + zero_bytes() : 0; }
  /// `cleared`: on an 8-byte bound. `listed` and `duplicates` are to be cleared, too.
  DuplicateSearch view(std::byte* cleared, unsigned long long* listed, Index* duplicates) const;
  /// Tests: the rows of the images in the first `entries` of the list become their owners', among all images' rows.
  void fill(Index entries, Index width, std::vector<double>& rows, cudaStream_t stream) const;

  static std::size_t device_bytes(const Plan& plan, Index images, Index sides);

 private:
  std::size_t table_bytes() const { return (std::size_t{row_mask_} + 1) * 2 * sizeof(unsigned long long); }
  std::size_t zero_bytes() const { return std::size_t{zero_layers_} * zero_words_ * sizeof(std::uint32_t); }

  bool on_ = false;
  Index sides_ = 0;
  std::uint32_t row_mask_ = 0;
  Index zero_layers_ = 0;
  Index zero_words_ = 0;
  DeviceBuffer<std::uint32_t> hashes_[2];
  DeviceBuffer<Duplicate> list_;
  DeviceBuffer<Ending> endings_;
};

}  // namespace spdnn::cuda
