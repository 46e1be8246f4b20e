#include "io/directory_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>

namespace spdnn {

Descriptor lock_directory(const std::filesystem::path& directory, DirectoryLock lock) {
  const std::filesystem::path name = directory.empty() ? "." : directory;
  Descriptor opened(::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  while (opened && ::flock(opened.get(), lock == DirectoryLock::shared ? LOCK_SH : LOCK_EX) != 0)
    if (errno != EINTR) break;
  return opened;
}

}  // namespace spdnn
