#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

#include "core/descriptor.hpp"

namespace spdnn {

/// A regular file that is read, or bytes in memory that stand for one. What is read is copied, so that later changes of
/// the file cannot affect a result. A mapping could not promise that: other programs may shorten the file (SIGBUS) or
/// overwrite it, and a private mapping still shows what they write to pages that were not touched yet. Reading is no
/// slower: pages of 4 KiB need not be mapped one by one, and a piece is in the cache when it is looked at.
class InputFile {
 public:
  /// Opens a file. DataError where it is missing, unreadable or anything but a regular file.
  explicit InputFile(const std::filesystem::path& path);
  /// Stands for a file. `bytes` must outlive this; `name` is the name of the file in messages.
  InputFile(std::string name, std::span<const std::byte> bytes)
      : name_(std::move(name)), memory_(bytes), size_(bytes.size()) {}
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::string& name() const { return name_; }
  std::size_t size() const { return size_; }

  /// Announces that these bytes are about to be read, so that the kernel begins to fetch what is not in memory.
  void will_need(std::size_t offset, std::size_t size) const;
  /// Copies the bytes from `offset` on, which must lie inside the size. Several threads may read at once. DataError
  /// where the file has become shorter.
  void read(std::size_t offset, std::span<std::byte> to) const;
  /// DataError where size or time of modification have changed since the file was opened, or where there are bytes
  /// beyond the size, as in files of /proc, which state a size of 0. Readers of files without checksums call this at
  /// their end: then what was read is one state of the file, as far as the file system keeps its times. Renaming the
  /// file, or giving its name to another file, is no change.
  void check_unchanged() const;

 private:
  [[noreturn]] void fail(const std::string& what) const;
  std::size_t read_some(std::size_t offset, std::span<std::byte> to) const;

  std::string name_;
  std::span<const std::byte> memory_;
  std::size_t size_ = 0;
  Descriptor file_;  ///< none where bytes in memory stand for the file
  struct stat opened_ {};
};

/// All of a file, in one state, as text.
std::string text_of_file(const std::filesystem::path& path);

}  // namespace spdnn
