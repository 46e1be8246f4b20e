#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>

namespace spdnn {

/// How a mapped file will be read: sequential makes the kernel read it ahead as a whole, at once.
enum class Access { sequential, random };

/// A file mapped read-only. Copies share the mapping; it is undone when the last copy, and the last pointer that
/// aliases owner(), are gone. A mapping does not survive its file being shortened by others (SIGBUS), as with any mmap.
class MappedFile {
 public:
  /// DataError for a file that is missing, unreadable or anything but a regular file. An empty file is an empty
  /// mapping.
  explicit MappedFile(const std::filesystem::path& path, Access access = Access::sequential);

  const std::byte* data() const { return data_.get(); }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::span<const std::byte> bytes() const { return {data(), size_}; }
  std::string_view text() const { return {reinterpret_cast<const char*>(data()), size_}; }
  /// What keeps the mapping: alias into it to share it.
  const std::shared_ptr<const std::byte>& owner() const { return data_; }

 private:
  std::shared_ptr<const std::byte> data_;  ///< page-aligned
  std::size_t size_ = 0;
};

/// Advice that these mapped bytes are about to be read: the kernel starts fetching what is not in memory.
void will_need(std::span<const std::byte> bytes);

}  // namespace spdnn
