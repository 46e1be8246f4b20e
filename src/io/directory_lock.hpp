#pragma once

#include <filesystem>

#include "core/descriptor.hpp"

namespace spdnn {

/// Those who write files of a directory that belong together hold it exclusively while they put them in place; readers
/// share it while they open them, or read them.
enum class DirectoryLock { shared, exclusive };

/// Waits for the lock (flock), which is held as long as the descriptor lives. Where another directory was put in the
/// place of this one meanwhile, that one is locked. A directory that cannot be opened or locked stays unlocked. The
/// empty path is the working directory.
Descriptor lock_directory(const std::filesystem::path& directory, DirectoryLock lock);

}  // namespace spdnn
