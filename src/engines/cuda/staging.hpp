#pragma once

#include <array>
#include <cstddef>
#include <functional>

#include "engines/cuda/device_buffer.hpp"
#include "engines/cuda/handle.hpp"

namespace spdnn::cuda {

/// Copies host memory of any size to the device through two page-locked buffers: one is filled by all host threads
/// while the other is on its way. Returns when the last piece is enqueued; the source may be reused then.
class Staging {
 public:
  explicit Staging(std::size_t piece_bytes = std::size_t{16} << 20U);
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  void copy(void* device, const void* host, std::size_t bytes, cudaStream_t stream);
  /// One piece of at most piece_bytes(), written in place by `fill`.
  void put(void* device, std::size_t bytes, const std::function<void(std::byte*)>& fill, cudaStream_t stream);
  std::size_t piece_bytes() const { return pieces_[0].size(); }

 private:
  std::array<PinnedBuffer<std::byte>, 2> pieces_;
  std::array<Event, 2> copied_;  ///< the piece may be overwritten
  int next_ = 0;
};

}  // namespace spdnn::cuda
