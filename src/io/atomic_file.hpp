#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

namespace spdnn {

/// A file that comes into being whole or not at all: written under a temporary name beside the target, synced and
/// renamed by commit(). Without commit() (an exception, say) the temporary file is removed and an earlier file under
/// the real name stays as it was. A symbolic link is followed; a device, a pipe or /dev/stdout is written directly.
/// Every failure is a DataError that names the target and says why.
///
///   AtomicFile file(path);
///   file.write(text);  // as often as needed
///   file.commit();
class AtomicFile {
 public:
  explicit AtomicFile(const std::filesystem::path& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// Appends; unbuffered, so hand over big pieces.
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  /// Overwrites at a position, which pipes do not have; write() goes on where it was.
  void write_at(std::uint64_t position, std::span<const std::byte> bytes);
  /// Bytes appended so far.
  std::uint64_t size() const { return size_; }
  /// Syncs, renames, syncs the directory. Nothing may be written afterwards.
  void commit();

 private:
  void open_directly();
  void open_temporary();
  void close();
  void sync_directory() const;
  [[noreturn]] void fail() const;

  std::filesystem::path path_;       ///< as the caller named it, for messages
  std::filesystem::path target_;     ///< links resolved
  std::filesystem::path temporary_;  ///< empty where the target is written directly, and after commit()
  int file_ = -1;
  std::uint64_t size_ = 0;
};

}  // namespace spdnn
