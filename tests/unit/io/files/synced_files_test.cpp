// Files get their names only once their content is on the disk. This file replaces the system calls that sync it.

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <vector>

#include "io/files/atomic_file.hpp"
#include "temporary_directory.hpp"

namespace spdnn {
namespace {

/// A sync that happened while a test watched a path.
struct Sync {
  ino_t inode = 0;
  off_t bytes = 0;
  bool named = false;  ///< the watched path named this file already, or for a directory: its new file
};

std::filesystem::path watched;
ino_t watched_before = 0;
std::vector<Sync> syncs;

ino_t inode_of(const std::filesystem::path& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? status.st_ino : 0;
}

void note_sync(int file) {
  struct stat status {};
  if (watched.empty() || ::fstat(file, &status) != 0) return;
  const ino_t now = inode_of(watched);
  const bool named = S_ISDIR(status.st_mode) ? now != 0 && now != watched_before : now == status.st_ino;
  syncs.push_back({status.st_ino, status.st_size, named});
}

/// Writes a file at the path and returns the syncs that happened.
std::vector<Sync> syncs_of_writing(const std::filesystem::path& path, std::string_view text) {
  watched = path;
  watched_before = inode_of(path);
  syncs.clear();
  AtomicFile file(path);
  file.write(text);
  file.commit();
  watched.clear();
  return syncs;
}

TEST(SyncedFiles, ContentReachesTheDiskBeforeTheNameAndTheNameBeforeTheEnd) {
  const TemporaryDirectory directory;
  const auto path = directory / "a";
  for (const char* text : {"new", "in place of it"}) {
    const std::vector<Sync> seen = syncs_of_writing(path, text);
    const auto synced = [&](const std::filesystem::path& what, bool named) {
      return std::count_if(seen.begin(), seen.end(), [&](const Sync& sync) {
        return sync.inode == inode_of(what) && sync.named == named &&
               (named || sync.bytes == static_cast<off_t>(std::filesystem::file_size(path)));
      });
    };
    EXPECT_EQ(synced(path, false), 1) << text;
    EXPECT_EQ(synced(directory.path(), true), 1) << text;
  }
}

}  // namespace
}  // namespace spdnn

// These replace the functions of the C library.
extern "C" {
int fsync(int file) {
  spdnn::note_sync(file);
  return static_cast<int>(::syscall(SYS_fsync, file));
}
int fdatasync(int file) {
  spdnn::note_sync(file);
  return static_cast<int>(::syscall(SYS_fdatasync, file));
}
}
