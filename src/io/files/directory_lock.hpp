#pragma once

#include <filesystem>

#include "core/system/descriptor.hpp"

namespace spdnn {

/// Writers hold the lock exclusively while they put files in place that belong together; readers share it while they
/// open or read them.
enum class DirectoryLock { shared, exclusive };

/// Waits for the lock (flock), which lasts as long as the descriptor. If the directory is replaced meanwhile, the new
/// one is locked. A directory that cannot be opened or locked stays unlocked. The empty path is the working directory.
Descriptor lock_directory(const std::filesystem::path& directory, DirectoryLock lock);

}  // namespace spdnn
