#include "core/system/cache_directory.hpp"

#include <cstdlib>

namespace spdnn {

std::filesystem::path cache_directory() {
  if (const char* const own = std::getenv("SPDNN_CACHE")) return own;
  if (const char* const all = std::getenv("XDG_CACHE_HOME"); all != nullptr && *all != '\0')
    return std::filesystem::path(all) / "spdnn";
  if (const char* const home = std::getenv("HOME"); home != nullptr && *home != '\0')
    return std::filesystem::path(home) / ".cache" / "spdnn";
  return {};
}

}  // namespace spdnn
