#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "cluster/communicator.hpp"
#include "core/system/descriptor.hpp"

namespace spdnn {

/// Memory that the ranks of a node have together. The leader makes it; what one rank has written, the others may read
/// once they have waited for it. It has no name in any file system, so that nothing is left of it however the ranks
/// end.
class SharedMemory {
 public:
  /// All ranks of the job make one together. Where a rank cannot reach the leader's memory, as when each rank has a
  /// container of its own, all have memory of their own instead, and is_shared() is false.
  SharedMemory(Communicator& ranks, std::size_t bytes);

  std::byte* data() const { return memory_.get(); }
  /// Bytes and the place where they begin.
  struct Piece {
    std::size_t begin = 0;
    std::span<const std::byte> bytes;
    std::shared_ptr<const void> hold;  ///< of the bytes
  };
  /// Copies pieces to their places; for the leader. One processor writes them to the file, which for memory that was
  /// never touched is up to twice as fast as to copy through the mapping, which the system extends page by page;
  /// several copy through the mapping all the same, because writers of a file wait for one another.
  void write(std::span<const Piece> pieces);
  /// Maps what the leader has written, in one go.
  void fetch() const;
  bool is_shared() const { return shared_; }
  /// Keeps the memory for as long as it is held.
  std::shared_ptr<const std::byte> hold() const { return memory_; }

 private:
  void write(const Piece& piece);

  std::shared_ptr<std::byte> memory_;
  std::size_t bytes_;
  Descriptor file_;  ///< of shared memory
  bool shared_ = false;
};

}  // namespace spdnn
