#pragma once

#include <cstddef>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>

#include "core/descriptor.hpp"

namespace spdnn {

/// A file or directory under a temporary name, in which an output is made before it is put in place. The name,
/// `.spdnn-HASH-HOST-RANDOM.tmp`, contains hashes of the target's name and of the host's, and the writer holds an flock
/// on it. So a later writer of the same target recognises those that a killed writer has left, and removes them. Where
/// the file system has no flock, they stay. Nodes need not see one another's locks, as on Lustre with `localflock` and
/// on NFS without a lock manager: those of another host are removed only when nobody has written them for a day.
class Temporary {
 public:
  enum class Kind { file, directory };
  /// Makes it in `directory`. `target` is what it will become, and the name that errors of files inside it give. Throws
  /// std::system_error where it cannot be made.
  Temporary(Kind kind, const std::filesystem::path& directory, const std::filesystem::path& target, unsigned mode);
  /// Removes whatever has the temporary name; a directory with all that is in it.
  ~Temporary();
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  const std::filesystem::path& path() const { return path_; }
  /// The descriptor of the file, open for reading and writing, or of the directory, open for reading.
  int descriptor() const { return descriptor_.get(); }
  /// To be called when the file has been renamed to its target, so that nothing is removed.
  void put_in_place();

 private:
  bool attempt(Kind kind, unsigned mode);

  std::filesystem::path path_;
  Descriptor descriptor_;
};

/// Removes what killed writers of `target` have left in `directory`. Returns the number of those whose writers may
/// live.
std::size_t remove_stale_temporaries(const std::filesystem::path& directory, const std::filesystem::path& target);

/// The final name of a file in a temporary directory of this process; empty for any other file.
std::optional<std::filesystem::path> name_in_target(const std::filesystem::path& path);

/// While this is held, end_temporaries() waits: for steps that belong together, such as renaming two files.
std::unique_lock<std::recursive_mutex> hold_temporaries();

/// Removes all temporaries of this process, for a program that is about to end by a signal. Other threads may still be
/// writing: the next time that one of them makes, renames or removes a temporary, it waits forever.
void end_temporaries();

}  // namespace spdnn
