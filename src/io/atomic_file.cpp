#include "io/atomic_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <random>
#include <string>

#include "core/system_failure.hpp"

namespace spdnn {

namespace fs = std::filesystem;

namespace {

constexpr int kMostLinks = 40;  // as Linux itself allows

bool in_proc(const fs::path& directory) { return directory.string().starts_with("/proc/"); }

/// The file that a chain of symbolic links ends at, which need not exist. Stops at links of /proc, such as the one
/// that /dev/stdout leads to: these stand for open files, not for names.
fs::path follow_links(fs::path path) {
  std::error_code none;
  for (int links = 0; links < kMostLinks; ++links) {
    const fs::path parent = fs::canonical(path.has_parent_path() ? path.parent_path() : ".", none);
    if (none) return path;  // opening it will say what is wrong
    path = parent / path.filename();
    if (in_proc(parent) || !fs::is_symlink(fs::symlink_status(path, none))) return path;
    path = parent / fs::read_symlink(path, none);
  }
  return path;
}

/// n where path stands for this process's open file n (/dev/stdout does); -1 otherwise.
int own_descriptor(const fs::path& path) {
  if (path.parent_path() != fmt::format("/proc/{}/fd", ::getpid())) return -1;
  const std::string name = path.filename().string();
  int number = -1;
  std::from_chars(name.data(), name.data() + name.size(), number);
  return number;
}

}  // namespace

AtomicFile::AtomicFile(const fs::path& path) : path_(path), target_(follow_links(path)) {
  struct stat status {};
  const bool exists = ::stat(target_.c_str(), &status) == 0;
  if (!exists && errno != ENOENT) fail();
  if (exists && S_ISDIR(status.st_mode)) {
    errno = EISDIR;
    fail();
  }
  // Renaming would replace a file that its owner made read-only.
  if (exists && ::access(target_.c_str(), W_OK) != 0) fail();
  if (exists && (!S_ISREG(status.st_mode) || in_proc(target_.parent_path()))) {
    open_directly();
    return;
  }
  open_temporary();
  if (exists) ::fchmod(file_, status.st_mode & 07777U);
}

AtomicFile::~AtomicFile() {
  if (file_ >= 0) ::close(file_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::open_directly() {
  // A descriptor of our own is duplicated, so that what others print there and what is written here do not overlap.
  const int own = own_descriptor(target_);
  file_ = own >= 0 ? ::fcntl(own, F_DUPFD_CLOEXEC, 0) : ::open(target_.c_str(), O_WRONLY | O_CLOEXEC);
  if (file_ < 0) fail();
}

void AtomicFile::open_temporary() {
  std::random_device random;
  do {
    // Independent of the target's name, which may be as long as names can be.
    temporary_ = target_.parent_path() / fmt::format(".spdnn-{:08x}{:08x}.tmp", random(), random());
    file_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (file_ < 0 && errno == EEXIST);
  if (file_ >= 0) return;
  temporary_.clear();
  fail();
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail();
    size_ += static_cast<std::uint64_t>(written);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void AtomicFile::write_at(std::uint64_t position, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(file_, bytes.data(), bytes.size(), static_cast<off_t>(position));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail();
    position += static_cast<std::uint64_t>(written);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void AtomicFile::commit() {
  if (temporary_.empty()) return close();
  if (::fsync(file_) != 0) fail();
  close();
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail();
  temporary_.clear();
  sync_directory();
}

void AtomicFile::close() {
  const int file = file_;
  file_ = -1;
  if (::close(file) != 0) fail();  // network file systems report a full disk only here
}

/// Makes the new name survive a crash. File systems that cannot sync a directory (EINVAL) keep names in order anyway.
void AtomicFile::sync_directory() const {
  const int directory = ::open(target_.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return;  // a directory may be writable without being readable
  const bool failed = ::fsync(directory) != 0 && errno != EINVAL;
  const int reason = errno;
  ::close(directory);
  errno = reason;
  if (failed) fail();
}

void AtomicFile::fail() const { throw_system_failure(path_, "cannot write", errno); }

}  // namespace spdnn
