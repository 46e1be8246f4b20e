#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <optional>
#include <string>

namespace spdnn {

/// Whether an output is stdout, by the name that options give it.
inline bool is_stdout(const std::string& name) { return name == "-"; }
/// The path of an output, which is /dev/stdout for `-`.
inline std::filesystem::path output_path(const std::string& name) { return is_stdout(name) ? "/dev/stdout" : name; }

/// The resolved location of an output, after `..` and symbolic links, and the file there now.
struct OutputTarget {
  std::filesystem::path path;      ///< the real directory and a name in it
  std::optional<struct stat> now;  ///< empty if nothing exists there
  /// Whether it is a device, a pipe or an open file of /proc, such as /dev/stdout: these are written directly and never
  /// replaced.
  bool direct() const;
};

/// The target of an output file. DataError, naming `path`, for problems that can be detected early: it is a directory,
/// its owner made it read-only, or its directory is missing or not writable.
OutputTarget find_output_file(const std::filesystem::path& path);

/// The target of an output directory. DataError if it is a file, or if it (or its parent, if it does not exist yet) is
/// not writable.
OutputTarget find_output_directory(const std::filesystem::path& path);

/// Gives a new file or directory the owner, group and mode of the one that it replaces. Root can always do that. Other
/// users become the owner, because complete files matter more than their owners, and keep the group if they belong to
/// it. Permissions of an owner or group that could not be kept are dropped. Returns true if everything was kept.
bool copy_attributes(int descriptor, const struct stat& from);

/// Throws `PATH: cannot write: REASON` for an errno value, as throw_system_failure() does.
[[noreturn]] void fail_to_write(const std::filesystem::path& path, int error);

}  // namespace spdnn
