#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "core/system/descriptor.hpp"

namespace spdnn {

/// A regular file open for reading, or bytes in memory in place of one. Data are copied, so that later changes of the
/// file cannot affect a result. A mapping cannot guarantee that: other programs may truncate the file (SIGBUS) or
/// overwrite it, and even a private mapping shows their writes to untouched pages. Reading is no slower: 4 KiB pages
/// need not be mapped one by one, and a piece is in the cache when it is used.
class InputFile {
 public:
  /// Opens a file. DataError if it is missing, unreadable or not a regular file.
  explicit InputFile(const std::filesystem::path& path);
  /// Uses memory in place of a file. `bytes` must outlive this object; `name` is the file's name in messages.
  InputFile(std::string name, std::span<const std::byte> bytes)
      : name_(std::move(name)), memory_(bytes), size_(bytes.size()) {}
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::string& name() const { return name_; }
  std::size_t size() const { return size_; }

  /// Announces that these bytes will be read soon, so that the kernel prefetches them.
  void will_need(std::size_t offset, std::size_t size) const;
  /// Copies the bytes from `offset` on, which must lie within the size. Thread-safe. DataError if the file has become
  /// shorter.
  void read(std::size_t offset, std::span<std::byte> to) const;
  /// DataError if size or modification time have changed since the file was opened, or if there are bytes beyond the
  /// size, as in /proc, whose files report a size of 0. Readers of formats without checksums call this at the end; the
  /// data read are then one state of the file, within the resolution of its timestamps. Renaming the file, or giving
  /// its name to another file, is no change.
  void check_unchanged() const;

 private:
  [[noreturn]] void fail(const std::string& what) const;
  std::size_t read_some(std::size_t offset, std::span<std::byte> to) const;

  std::string name_;
  std::span<const std::byte> memory_;
  std::size_t size_ = 0;
  Descriptor file_;  ///< empty if the bytes are in memory
  struct stat opened_ {};
};

/// Whether a file last written at the time `modified` would get another time by a write from `now` on. Both are in
/// nanoseconds. The clock that stamps files ticks every 1 to 10 ms; a time further ahead is of another clock.
bool shows_later_writes(std::int64_t modified, std::int64_t now);

/// All of a file, in one state, as text.
std::string text_of(const InputFile& file);
std::string text_of_file(const std::filesystem::path& path);

}  // namespace spdnn
