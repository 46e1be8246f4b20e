#pragma once

#include <filesystem>
#include <vector>

namespace spdnn {

/// What a name stands for, links followed.
enum class PathKind { missing, file, directory, other };

/// Throws `PATH: cannot read: REASON` where that cannot be told: links in a circle, a directory that one may not enter,
/// a name that is too long.
PathKind path_kind(const std::filesystem::path& path);

/// The paths of all that lies in a directory, in order of their names. Throws as path_kind does.
std::vector<std::filesystem::path> list_directory(const std::filesystem::path& directory);

}  // namespace spdnn
