#include "io/files/output_target.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "core/system/system_failure.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

namespace fs = std::filesystem;

namespace {

constexpr int kMostLinks = 40;  // Linux's own limit

bool in_proc(const fs::path& directory) { return directory.string().starts_with("/proc/"); }

bool may_write(const fs::path& path) { return ::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) == 0; }

std::optional<struct stat> status_of(const fs::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0) return status;
  if (errno != ENOENT) throw std::system_error(errno, std::generic_category());
  return {};
}

/// The file at the end of a chain of symbolic links; it need not exist. Stops at links of /proc, such as the target of
/// /dev/stdout, because these stand for open files rather than names.
fs::path follow_links(fs::path path) {
  for (int links = 0; links < kMostLinks; ++links) {
    const fs::path parent = fs::canonical(path.has_parent_path() ? path.parent_path() : ".");
    path = parent / path.filename();
    if (in_proc(parent) || !fs::is_symlink(fs::symlink_status(path))) return path;
    path = parent / fs::read_symlink(path);
  }
  throw std::system_error(ELOOP, std::generic_category());
}

/// In a sticky directory, such as /tmp, only the owner of a file or of the directory may replace it.
bool may_replace(const fs::path& parent, const struct stat& now) {
  const auto directory = status_of(parent);
  const uid_t self = ::geteuid();
  return self == 0 || !directory || (directory->st_mode & S_ISVTX) == 0 || now.st_uid == self ||
         directory->st_uid == self;
}

/// Calls find() and converts system errors to the DataError of an output.
template <class Find>
OutputTarget reported(const fs::path& path, const Find& find) {
  try {
    return find();
  } catch (const std::system_error& error) {
    fail_to_write(path, error.code().value());
  }
}

[[noreturn]] void refuse(int error) { throw std::system_error(error, std::generic_category()); }

}  // namespace

bool OutputTarget::direct() const { return now && (!S_ISREG(now->st_mode) || in_proc(path.parent_path())); }

OutputTarget find_output_file(const fs::path& path) {
  return reported(path, [&] {
    if (path.empty()) refuse(ENOENT);
    OutputTarget target;
    target.path = path.has_filename() ? follow_links(path) : path;
    target.now = status_of(target.path);
    if (target.now && S_ISDIR(target.now->st_mode)) refuse(EISDIR);
    if (!path.has_filename()) refuse(ENOENT);
    // Renaming would replace a file that its owner made read-only.
    if (target.now && !may_write(target.path)) refuse(errno);
    if (target.direct()) return target;
    if (!may_write(target.path.parent_path())) refuse(errno);
    if (target.now && !may_replace(target.path.parent_path(), *target.now)) refuse(EPERM);
    return target;
  });
}

OutputTarget find_output_directory(const fs::path& path) {
  return reported(path, [&] {
    if (path.empty()) refuse(ENOENT);
    OutputTarget target;
    target.now = status_of(path);
    if (target.now && !S_ISDIR(target.now->st_mode))
      throw DataError(path.string() + ": cannot write: it is a file, expected a directory or a new name");
    target.path = target.now ? fs::canonical(path) : follow_links(path.has_filename() ? path : path.parent_path());
    if (!may_write(target.now ? target.path : target.path.parent_path())) refuse(errno);
    return target;
  });
}

bool copy_attributes(int descriptor, const struct stat& from) {
  struct stat now {};
  ::fstat(descriptor, &now);  // if that fails, fchmod() does as well
  const bool owner = now.st_uid == from.st_uid || ::fchown(descriptor, from.st_uid, -1) == 0;
  const bool group = now.st_gid == from.st_gid || ::fchown(descriptor, -1, from.st_gid) == 0;
  mode_t mode = from.st_mode & 07777U;
  if (!owner) mode &= ~static_cast<mode_t>(S_ISUID);
  if (!group) mode = (mode & ~static_cast<mode_t>(S_ISGID | S_IRWXG)) | ((mode & S_IRWXO) << 3U);
  // chown() clears set-id bits, so the mode is set last.
  return ::fchmod(descriptor, mode) == 0 && owner && group;
}

void fail_to_write(const fs::path& path, int error) { throw_system_failure(path, "cannot write", error); }

}  // namespace spdnn
