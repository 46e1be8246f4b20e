#include "io/files/path_kind.hpp"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string>

#include "core/system/system_failure.hpp"

namespace spdnn {

PathKind path_kind(const std::filesystem::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0)
    return S_ISREG(status.st_mode) ? PathKind::file : S_ISDIR(status.st_mode) ? PathKind::directory : PathKind::other;
  if (errno == ENOENT || errno == ENOTDIR) return PathKind::missing;
  throw_system_failure(path, "cannot read", errno);
}

// std::filesystem::directory_iterator is avoided because it terminates the program when out of memory (GCC 12).
std::vector<std::filesystem::path> list_directory(const std::filesystem::path& directory) {
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::opendir(directory.c_str()), ::closedir);
  if (!stream) throw_system_failure(directory, "cannot read", errno);
  std::vector<std::filesystem::path> found;
  for (errno = 0; const dirent* entry = ::readdir(stream.get()); errno = 0) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") found.push_back(directory / name);
  }
  if (errno != 0) throw_system_failure(directory, "cannot read", errno);
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace spdnn
