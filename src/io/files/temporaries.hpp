#pragma once

#include <cstddef>
#include <filesystem>
#include <mutex>
#include <optional>

#include "core/system/descriptor.hpp"

namespace spdnn {

/// A file or directory under a temporary name, in which an output is built before it is put in place. The name,
/// `.spdnn-HASH-HOST-RANDOM.tmp`, contains hashes of the target's and the host's names, and the writer holds an flock
/// on it. A later writer of the same target therefore recognises the leftovers of killed writers and removes them.
/// Without flock support they stay. Nodes may not see one another's locks, as on Lustre with `localflock` and on NFS
/// without a lock manager: leftovers of another host are removed only if nobody has written them for a day.
class Temporary {
 public:
  enum class Kind { file, directory };
  /// Creates it in `directory`. `target` is its final path, which errors of files inside it name. Throws
  /// std::system_error if it cannot be created.
  Temporary(Kind kind, const std::filesystem::path& directory, const std::filesystem::path& target, unsigned mode);
  /// Removes the file or directory, including its contents, if it still has the temporary name.
  ~Temporary();
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  const std::filesystem::path& path() const { return path_; }
  /// The descriptor of the file, open for reading and writing, or of the directory, open for reading.
  int descriptor() const { return descriptor_.get(); }
  /// Call this after the file has been renamed to its target, so that nothing is removed.
  void put_in_place();

 private:
  bool attempt(Kind kind, unsigned mode);

  std::filesystem::path path_;
  Descriptor descriptor_;
};

/// Removes leftovers of killed writers of `target` from `directory`. Returns the number of temporaries whose writers
/// may be alive.
std::size_t remove_stale_temporaries(const std::filesystem::path& directory, const std::filesystem::path& target);

/// The final name of a file in a temporary directory of this process; empty for other files.
std::optional<std::filesystem::path> name_in_target(const std::filesystem::path& path);

/// Makes end_temporaries() wait while held: for steps that belong together, such as renaming two files.
std::unique_lock<std::recursive_mutex> hold_temporaries();

/// Removes all temporaries of this process before it is ended by a signal. Other threads may still be writing: their
/// next attempt to make, rename or remove a temporary blocks forever.
void end_temporaries();

}  // namespace spdnn
