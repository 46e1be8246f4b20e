#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/system/descriptor.hpp"
#include "io/files/output_target.hpp"
#include "io/files/temporaries.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

/// stdout is a pipe whose reader has closed it.
struct ClosedStdout : DataError {
  using DataError::DataError;
};

/// A file that appears whole or not at all: it is written under a temporary name beside the target, then synced and
/// renamed by commit(). Without commit(), for instance after an exception, the temporary file is removed and an
/// existing target stays unchanged. A file that replaces another keeps its owner, group and mode. Symbolic links are
/// followed. Devices, pipes and /dev/stdout are written directly, and so are files in a directory that is itself a
/// Temporary. Every error names the target and the cause: a DataError (ClosedStdout if it applies), or a DeviceError if
/// the machine has run out of a resource (core/system_failure.hpp).
///
///   AtomicFile file(path);
///   file.write(text);  // as often as needed
///   file.commit();
///
/// Files that belong together can be committed together.
class AtomicFile {
 public:
  explicit AtomicFile(const std::filesystem::path& path);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// The path as the caller named it.
  const std::filesystem::path& path() const { return path_; }
  /// Appends without buffering; pass large pieces.
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  /// Overwrites bytes at a position, which a pipe does not allow. write() continues at the end.
  void write_at(std::uint64_t position, std::span<const std::byte> bytes);
  /// The number of bytes appended so far.
  std::uint64_t size() const { return size_; }
  /// Flushes all data to the disk, still under the temporary name. Nothing may be written afterwards.
  void sync();
  /// Syncs, renames, syncs the directory. Nothing may be written afterwards.
  void commit() { commit_together({this}); }
  /// Commits several files: all are synced before the first is renamed, the renames follow one another directly, and
  /// signals are deferred until the last. If one rename fails, the earlier ones are undone: a replaced file gets its
  /// name back if the file system supports hard links; otherwise the message names the files already in place. Null
  /// entries are skipped.
  static void commit_together(const std::vector<AtomicFile*>& files);

 private:
  void open_directly();
  void open_in_place();
  void open_temporary();
  bool is_temporary() const { return temporary_.has_value(); }
  void put_in_place();
  static void put_in_place(const std::vector<AtomicFile*>& files);
  [[noreturn]] void fail() const;

  std::filesystem::path path_;
  bool is_stdout_ = false;
  OutputTarget target_;
  std::optional<Temporary> temporary_;  ///< empty if the target itself is written
  Descriptor file_;                     ///< closed by sync()
  std::uint64_t size_ = 0;
};

/// Syncs a directory so that its entries survive a crash. Returns false and sets errno on failure. File systems that
/// cannot sync a directory, and directories that are writable but not readable, do not count as failures.
bool sync_directory(const std::filesystem::path& directory);

}  // namespace spdnn
