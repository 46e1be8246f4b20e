#include "cluster/shared_memory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <system_error>
#include <utility>

#include "cluster/together.hpp"
#include "core/threads/parallel.hpp"
#include "spdnn/array.hpp"

namespace spdnn {

namespace {

using Group = Communicator::Group;

/// Null if the system refuses.
std::shared_ptr<std::byte> mapped(int file, std::size_t bytes) {
  void* const start = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (start == MAP_FAILED) return nullptr;
  ::madvise(start, bytes, MADV_HUGEPAGE);
  return {static_cast<std::byte*>(start), [bytes](std::byte* memory) { ::munmap(memory, bytes); }};
}

/// A file in memory; none if the system refuses.
Descriptor new_file(std::size_t bytes) {
  Descriptor file(::memfd_create("spdnn", MFD_CLOEXEC));
  if (!file || ::ftruncate(file.get(), static_cast<off_t>(bytes)) != 0) return {};
  return file;
}

/// The leader's process, descriptor and inode: in a separate container, a rank finds another process under the leader's
/// number, and another file.
struct FileOfLeader {
  long process = 0;
  long descriptor = -1;  ///< -1: there is no file, and under this number there is none
  std::uint64_t device = 0;
  std::uint64_t number = 0;

  FileOfLeader() = default;
  explicit FileOfLeader(const Descriptor& file) : process(::getpid()), descriptor(file.get()) {
    struct stat status {};
    if (!file || ::fstat(file.get(), &status) != 0) return;
    device = status.st_dev;
    number = status.st_ino;
  }
  bool is(const FileOfLeader& other) const { return device == other.device && number == other.number; }
};

/// The leader's file, which the others of the node open by the leader's process and descriptor.
Descriptor leaders_file(Communicator& ranks, std::size_t bytes) {
  Descriptor own = ranks.leads_node() ? new_file(bytes) : Descriptor();
  FileOfLeader wanted(own);
  ranks.broadcast(std::as_writable_bytes(std::span(&wanted, 1)), Group::node);
  if (ranks.leads_node()) return own;
  Descriptor found(
      ::open(fmt::format("/proc/{}/fd/{}", wanted.process, wanted.descriptor).c_str(), O_RDWR | O_CLOEXEC));
  return FileOfLeader(found).is(wanted) ? std::move(found) : Descriptor();
}

}  // namespace

SharedMemory::SharedMemory(Communicator& ranks, std::size_t bytes) : bytes_(bytes) {
  if (ranks.place().node_ranks > 1 && bytes > 0) {
    file_ = leaders_file(ranks, bytes);
    if (file_) memory_ = mapped(file_.get(), bytes);
    shared_ = ranks.all(memory_ != nullptr, Group::node);
  }
  if (shared_ && ranks.place().node_ranks == ranks.place().ranks) return;  // as all ranks know
  together(ranks, [&] {
    if (!shared_) memory_ = allocate_bytes(bytes);
  });
}

void SharedMemory::write(std::span<const Piece> pieces) {
  constexpr int kFewestThreads = 4;  // with which copying through the mapping is faster
  if (shared_ && host_threads() < kFewestThreads) {
    for (const Piece& piece : pieces) write(piece);
    return;
  }
  parallel_for(pieces.size(), [&](std::size_t number) {
    const Piece& piece = pieces[number];
    std::copy(piece.bytes.begin(), piece.bytes.end(), memory_.get() + piece.begin);
  });
}

void SharedMemory::write(const Piece& piece) {
  std::size_t begin = piece.begin;
  std::span<const std::byte> bytes = piece.bytes;
  constexpr std::size_t kMost = std::size_t{64} << 20U;
  while (!bytes.empty()) {
    const ssize_t written =
        ::pwrite(file_.get(), bytes.data(), std::min(bytes.size(), kMost), static_cast<off_t>(begin));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) throw std::system_error(errno, std::generic_category());
    begin += static_cast<std::size_t>(written);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void SharedMemory::fetch() const {
#ifdef MADV_POPULATE_READ
  if (shared_) ::madvise(memory_.get(), bytes_, MADV_POPULATE_READ);  // older systems do it at the first touch
#endif
}

}  // namespace spdnn
