#pragma once

#include <filesystem>
#include <mutex>
#include <optional>
#include <string>

#include "io/descriptor.hpp"

namespace spdnn {

/// A file or directory under a temporary name, in which an output is made before it is put in place. The name,
/// `.spdnn-HASH-RANDOM.tmp`, carries a hash of the target's name, and the writer holds flock on it: so a later writer
/// of the same target knows the ones that a killed writer left behind, and removes them. Where the file system has no
/// flock, they are left alone.
class Temporary {
 public:
  enum class Kind { file, directory };
  /// Makes it in `directory`. `target` is what it will become, which is what errors of files inside name. Throws
  /// std::system_error where it cannot be made.
  Temporary(Kind kind, const std::filesystem::path& directory, const std::filesystem::path& target, unsigned mode);
  /// Removes whatever has the temporary name, a directory with all that is in it.
  ~Temporary();
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  const std::filesystem::path& path() const { return path_; }
  /// Open for reading and writing, a directory for reading.
  int descriptor() const { return descriptor_.get(); }
  /// The temporary name has become the target's: there is nothing to remove.
  void put_in_place();

 private:
  bool attempt(Kind kind, unsigned mode);

  std::filesystem::path path_;
  Descriptor descriptor_;
};

/// Removes what killed writers of `target` left in `directory`.
void remove_stale_temporaries(const std::filesystem::path& directory, const std::filesystem::path& target);

/// The name that a file in a temporary directory of this process will have in the end; empty for any other file.
std::optional<std::filesystem::path> name_in_target(const std::filesystem::path& path);

/// While this is held, end_temporaries() waits: for steps that belong together, such as renaming two files.
std::unique_lock<std::recursive_mutex> hold_temporaries();

/// For a program that is about to end by a signal: removes all temporaries of this process. Other threads may still
/// be writing: the next time that one of them makes, renames or removes a temporary, it waits forever.
void end_temporaries();

}  // namespace spdnn
