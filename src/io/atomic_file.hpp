#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/descriptor.hpp"
#include "io/output_target.hpp"
#include "io/temporaries.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

/// stdout was written to, and is a pipe that nobody reads any more.
struct ClosedStdout : DataError {
  using DataError::DataError;
};

/// A file that appears whole or not at all: it is written under a temporary name beside the target, then synced and
/// renamed by commit(). Without commit(), for instance after an exception, the temporary file is removed, and an
/// earlier file of the real name stays as it was. A file that replaces another takes over its owner, group and mode. A
/// symbolic link is followed. A device, a pipe or /dev/stdout is written directly, and so is a file in a directory that
/// is itself a Temporary. Every failure names the target and says why: a DataError (ClosedStdout where it applies), or
/// a DeviceError where the machine has run out of something (core/system_failure.hpp).
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
  /// Appends without buffering, so pieces should be large.
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  /// Overwrites at a position, which is not possible in a pipe. write() continues where it was.
  void write_at(std::uint64_t position, std::span<const std::byte> bytes);
  /// The number of bytes appended so far.
  std::uint64_t size() const { return size_; }
  /// Brings all that was written to the disk, still under the temporary name. Nothing may be written afterwards.
  void sync();
  /// Syncs, renames, syncs the directory. Nothing may be written afterwards.
  void commit() { commit_together({this}); }
  /// Commits several files: all are synced before the first is renamed, nothing happens between one rename and the
  /// next, and a signal waits until the last. Where one cannot be renamed, those before it are taken back: a file that
  /// they replaced has its name again, if the file system has hard links, and otherwise the message names what stays.
  /// Null stands for no file.
  static void commit_together(std::initializer_list<AtomicFile*> files);

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
  std::optional<Temporary> temporary_;  ///< empty where the target itself is written
  Descriptor file_;                     ///< closed by sync()
  std::uint64_t size_ = 0;
};

/// Makes the names in a directory survive a crash. Returns false and sets errno where that failed. File systems that
/// cannot sync a directory, and directories that may be written but not read, do not count as failures.
bool sync_directory(const std::filesystem::path& directory);

}  // namespace spdnn
