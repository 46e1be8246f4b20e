#include "io/files/temporaries.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <cerrno>
#include <ctime>
#include <map>
#include <memory>
#include <random>
#include <string_view>
#include <system_error>

#include "core/system/machine_names.hpp"

namespace spdnn {

namespace fs = std::filesystem;

namespace {

constexpr const char* kEnding = ".tmp";
constexpr std::time_t kSecondsToForget = 86400;  ///< age at which temporaries of other hosts are removed: a day

/// The temporaries of this process, with their targets.
struct Registry {
  std::recursive_mutex mutex;
  std::map<fs::path, fs::path> targets;
};

/// The registry is never destroyed, because a thread may wait in it while the process exits.
Registry& registry() {
  static auto* const only = new Registry;
  return *only;
}

std::string prefix_of(const fs::path& target) {
  const std::string name = target.filename().string();
  return fmt::format(".spdnn-{:016x}-", XXH3_64bits(name.data(), name.size()));
}

/// The host part in the names of this host's temporaries, after the prefix.
std::string host_part() {
  const std::string host = host_name();
  return fmt::format("{:08x}-", XXH32(host.data(), host.size(), 0));
}

using DirectoryStream = std::unique_ptr<DIR, int (*)(DIR*)>;

/// Returns an empty stream if the directory cannot be read.
DirectoryStream open_stream(const fs::path& directory) { return {::opendir(directory.c_str()), ::closedir}; }

bool is_named(int descriptor, const fs::path& path) {
  struct stat open {};
  struct stat named {};
  return ::fstat(descriptor, &open) == 0 && ::lstat(path.c_str(), &named) == 0 && open.st_dev == named.st_dev &&
         open.st_ino == named.st_ino;
}

bool is_forgotten(int descriptor) {
  struct stat open {};
  return ::fstat(descriptor, &open) == 0 && std::time(nullptr) - open.st_mtime > kSecondsToForget;
}

/// Removes a file, or a directory of files, as far as possible. std::filesystem::remove_all is avoided because it
/// terminates the program when out of memory (GCC 12).
void remove_temporary(const fs::path& path) {
  if (::unlink(path.c_str()) == 0) return;
  if (const DirectoryStream files = open_stream(path))
    while (const dirent* file = ::readdir(files.get())) ::unlinkat(::dirfd(files.get()), file->d_name, 0);
  ::rmdir(path.c_str());
}

Descriptor open_existing(const fs::path& path) {
  Descriptor file(::open(path.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file && errno == EISDIR) file = Descriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return file;
}

}  // namespace

Temporary::Temporary(Kind kind, const fs::path& directory, const fs::path& target, unsigned mode) {
  remove_stale_temporaries(directory, target);
  const auto hold = hold_temporaries();
  std::random_device random;
  do path_ = directory / fmt::format("{}{}{:08x}{}", prefix_of(target), host_part(), random(), kEnding);
  while (!attempt(kind, mode));
  registry().targets.emplace(path_, target);
}

/// Returns false if the name is taken, or if another writer removed the file as stale before it was locked.
bool Temporary::attempt(Kind kind, unsigned mode) {
  const bool directory = kind == Kind::directory;
  if (directory && ::mkdir(path_.c_str(), mode) != 0) {
    if (errno == EEXIST) return false;
    throw std::system_error(errno, std::generic_category());
  }
  const int flags = directory ? O_RDONLY | O_DIRECTORY : O_RDWR | O_CREAT | O_EXCL;
  descriptor_ = Descriptor(::open(path_.c_str(), flags | O_CLOEXEC, mode));
  if (!descriptor_) {
    if (errno == (directory ? ENOENT : EEXIST)) return false;
    throw std::system_error(errno, std::generic_category());
  }
  if (::flock(descriptor_.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return false;
  return is_named(descriptor_.get(), path_);
}

Temporary::~Temporary() {
  if (path_.empty()) return;
  const auto hold = hold_temporaries();
  descriptor_ = Descriptor();  // removing a directory needs a descriptor, and this may be the last available
  remove_temporary(path_);
  registry().targets.erase(path_);
}

void Temporary::put_in_place() {
  const auto hold = hold_temporaries();
  registry().targets.erase(path_);
  path_.clear();
}

std::size_t remove_stale_temporaries(const fs::path& directory, const fs::path& target) {
  std::size_t held = 0;
  const std::string prefix = prefix_of(target);
  const std::string own = prefix + host_part();
  const DirectoryStream entries = open_stream(directory);
  while (const dirent* entry = entries ? ::readdir(entries.get()) : nullptr) {
    const std::string_view name = entry->d_name;
    if (!name.starts_with(prefix) || !name.ends_with(kEnding)) continue;
    // On this host, the lock is free only if the writer is gone.
    const fs::path path = directory / name;
    const Descriptor found = open_existing(path);
    if (!found) continue;
    if (::flock(found.get(), LOCK_EX | LOCK_NB) != 0)
      held += errno == EWOULDBLOCK ? 1 : 0;
    else if (!name.starts_with(own) && !is_forgotten(found.get()))
      ++held;
    else if (is_named(found.get(), path))
      remove_temporary(path);
  }
  return held;
}

std::optional<fs::path> name_in_target(const fs::path& path) {
  const auto hold = hold_temporaries();
  const auto found = registry().targets.find(path.parent_path());
  if (found == registry().targets.end()) return {};
  return found->second / path.filename();
}

std::unique_lock<std::recursive_mutex> hold_temporaries() { return std::unique_lock(registry().mutex); }

void end_temporaries() {
  registry().mutex.lock();  // never unlocked
  for (const auto& [path, target] : registry().targets) remove_temporary(path);
}

}  // namespace spdnn
