#pragma once

#include <filesystem>

namespace spdnn {

/// Where files are kept that can be made again at any time: $SPDNN_CACHE, else spdnn in $XDG_CACHE_HOME, else
/// .cache/spdnn in $HOME. It may not exist. Empty if none of these is set, or if SPDNN_CACHE is set to nothing: then
/// nothing is kept.
std::filesystem::path cache_directory();

}  // namespace spdnn
