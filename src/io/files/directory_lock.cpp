#include "io/files/directory_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>

namespace spdnn {

namespace {

/// Whether the name no longer refers to the opened directory.
bool is_replaced(const Descriptor& opened, const std::filesystem::path& name) {
  struct stat open {};
  struct stat named {};
  if (::fstat(opened.get(), &open) != 0 || ::stat(name.c_str(), &named) != 0) return false;
  return open.st_dev != named.st_dev || open.st_ino != named.st_ino;
}

}  // namespace

Descriptor lock_directory(const std::filesystem::path& directory, DirectoryLock lock) {
  const std::filesystem::path name = directory.empty() ? "." : directory;
  for (;;) {
    Descriptor opened(::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    while (opened && ::flock(opened.get(), lock == DirectoryLock::shared ? LOCK_SH : LOCK_EX) != 0)
      if (errno != EINTR) return opened;
    if (!opened || !is_replaced(opened, name)) return opened;
  }
}

}  // namespace spdnn
