#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <optional>

namespace spdnn {

/// Where an output goes once the system has resolved `..` and symbolic links, and what is there now.
struct OutputTarget {
  std::filesystem::path path;      ///< the real directory and a name in it
  std::optional<struct stat> now;  ///< empty where there is nothing yet
  /// Whether it is a device, a pipe or an open file of /proc, such as /dev/stdout: these are written directly, and
  /// never replaced.
  bool direct() const;
};

/// The target of a file to be written. DataError, which names `path`, for what can be known before the work: that it is
/// a directory, that its owner made it read-only, or that its directory is missing or may not be written.
OutputTarget find_output_file(const std::filesystem::path& path);

/// The target of a directory to be written. DataError where it is a file, or where it, or its parent if it does not
/// exist yet, may not be written.
OutputTarget find_output_directory(const std::filesystem::path& path);

/// Gives a new file or directory the owner, group and mode of the one whose place it takes. Root can always do that.
/// Other users become the owner themselves, because whole files matter more than their owners, and keep the group if
/// they belong to it. Rights of an owner or a group that could not be kept are not passed on. Returns true where all
/// was kept.
bool take_over_attributes(int descriptor, const struct stat& from);

/// Throws `PATH: cannot write: REASON` for an errno, as throw_system_failure() does.
[[noreturn]] void fail_to_write(const std::filesystem::path& path, int error);

}  // namespace spdnn
