#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <list>
#include <type_traits>

#include "engines/cuda/runtime/buffer.hpp"
#include "engines/cuda/runtime/handle.hpp"

namespace spdnn::cuda {

/// Copies host memory of any size to the device, and back, through a ring of page-locked buffers: one is filled by all
/// host threads while others are on their way. Returns when the last piece is enqueued; the source may be reused then.
/// Page-locking takes several times as long as copying, so the buffers belong to the process: the first Staging locks
/// them, later ones reuse them.
class Staging {
 public:
  /// Large enough that copying a piece takes much longer than starting its threads and synchronising. Four pieces keep
  /// the link busy when one of them takes longer to fill; two do not.
  static constexpr std::size_t kPieceBytes = std::size_t{8} << 20U;
  static constexpr std::size_t kPieceCount = 4;

  Staging();
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  void copy(void* device, const void* host, std::size_t bytes, cudaStream_t stream);
  /// The other way, through the same buffers. Returns once the copy is complete.
  void fetch(void* host, const void* device, std::size_t bytes, cudaStream_t stream);
  /// Lets `fill` write the data in place: at most kPieceBytes.
  void put(void* device, std::size_t bytes, const std::function<void(std::byte*)>& fill, cudaStream_t stream);
  /// Makes `to` a copy of `from`, a vector or an Array; frees its old memory first.
  template <class T, class Values>
  void upload(DeviceBuffer<T>& to, const Values& from, cudaStream_t stream) {
    static_assert(std::is_same_v<std::remove_cvref_t<decltype(*from.data())>, T>);
    to = DeviceBuffer<T>();
    to = DeviceBuffer<T>(from.size(), stream);
    copy(to.data(), from.data(), to.bytes(), stream);
  }

 private:
  using Pieces = PinnedBuffer<std::byte>;
  struct Idle;
  static Idle& idle();

  std::list<Pieces> pieces_;               ///< one element: a node that moves between owners without allocation
  std::array<Event, kPieceCount> copied_;  ///< the piece may be overwritten
  std::size_t next_ = 0;
};

}  // namespace spdnn::cuda
