#pragma once

#include <filesystem>
#include <vector>

namespace spdnn {

/// The kind of file at a path, after following links.
enum class PathKind { missing, file, directory, other };

/// Throws `PATH: cannot read: REASON` if that cannot be determined: circular links, an inaccessible directory, or a
/// name that is too long.
PathKind path_kind(const std::filesystem::path& path);

/// The paths of a directory's entries, sorted by name. Throws as path_kind() does.
std::vector<std::filesystem::path> list_directory(const std::filesystem::path& directory);

}  // namespace spdnn
