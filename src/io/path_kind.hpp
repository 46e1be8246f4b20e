#pragma once

#include <filesystem>
#include <vector>

namespace spdnn {

/// What a path names, once links have been followed.
enum class PathKind { missing, file, directory, other };

/// Throws `PATH: cannot read: REASON` where that cannot be found out: with links in a circle, a directory that one may
/// not enter, or a name that is too long.
PathKind path_kind(const std::filesystem::path& path);

/// The paths of everything in a directory, in the order of their names. Throws as path_kind does.
std::vector<std::filesystem::path> list_directory(const std::filesystem::path& directory);

}  // namespace spdnn
