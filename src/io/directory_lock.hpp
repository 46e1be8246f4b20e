#pragma once

#include <filesystem>

#include "core/descriptor.hpp"

namespace spdnn {

/// Those who write files of a directory that belong together hold it exclusively while they put them in place; readers
/// share it while they open them.
enum class DirectoryLock { shared, exclusive };

/// Waits for the lock (flock), which is held as long as the descriptor lives: of the directory that has this name then,
/// as another may have been put in its place meanwhile. A directory that cannot be opened or locked stays unlocked. The
/// empty path is the working directory.
Descriptor lock_directory(const std::filesystem::path& directory, DirectoryLock lock);

}  // namespace spdnn
