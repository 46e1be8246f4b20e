#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "cluster/communicator.hpp"
#include "core/system/descriptor.hpp"

namespace spdnn {

/// Memory shared by the ranks of a node. The leader creates it; other ranks may read a rank's data after synchronising
/// with it. It has no name in a file system, so nothing remains however the ranks end.
class SharedMemory {
 public:
  /// All ranks of the job call it together. If a rank cannot reach the leader's memory, for instance in separate
  /// containers, each rank has private memory instead, and is_shared() is false.
  SharedMemory(Communicator& ranks, std::size_t bytes);

  std::byte* data() const { return memory_.get(); }
  /// Bytes and their offset.
  struct Piece {
    std::size_t begin = 0;
    std::span<const std::byte> bytes;
    std::shared_ptr<const void> hold;  ///< of the bytes
  };
  /// Copies pieces to their places; for the leader. One processor writes them to the file, which for memory that was
  /// never touched is up to twice as fast as to copy through the mapping, which the system extends page by page;
  /// several copy through the mapping all the same, because writers of a file wait for one another.
  void write(std::span<const Piece> pieces);
  /// Maps the leader's data as a whole.
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
