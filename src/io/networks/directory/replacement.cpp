#include "io/networks/directory/replacement.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <cerrno>
#include <cstdio>
#include <system_error>
#include <vector>

#include "io/files/atomic_file.hpp"
#include "io/files/directory_lock.hpp"
#include "io/files/path_kind.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

namespace fs = std::filesystem;

namespace {

bool rename_with(const Path& from, const Path& to, unsigned flags) {
  return ::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), flags) == 0;
}

bool is_current_directory(const struct stat& directory) {
  struct stat current {};
  return ::stat(".", &current) == 0 && current.st_dev == directory.st_dev && current.st_ino == directory.st_ino;
}

bool is_mount_point(const Path& directory, const struct stat& status) {
  struct statx more {};
  if (::statx(AT_FDCWD, directory.c_str(), 0, STATX_BASIC_STATS, &more) == 0 &&
      (more.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0)
    return true;
  struct stat parent {};
  return ::stat(directory.parent_path().c_str(), &parent) != 0 || parent.st_dev != status.st_dev;
}

/// Whether the directory has access lists or similar attributes, which a new directory would not have.
bool has_attributes(const Path& directory) {
  std::vector<char> names(1 << 16);
  const ssize_t size = ::listxattr(directory.c_str(), names.data(), names.size());
  for (ssize_t begin = 0; begin < size;) {
    const std::string name = names.data() + begin;
    if (!name.starts_with("security.")) return true;
    begin += static_cast<ssize_t>(name.size()) + 1;
  }
  return size < 0 && errno == ERANGE;
}

}  // namespace

/// The contents of the target before its files are replaced.
struct NetworkDirectory::Contents {
  std::set<std::string> old_files;  ///< files of the old network, and files that the new one would overwrite
  bool others = false;              ///< there are other files
};

NetworkDirectory::NetworkDirectory(const Path& directory, std::set<std::string> names)
    : directory_(directory), target_(find_output_directory(directory)), names_(std::move(names)) {
  try {
    stage();
  } catch (const std::system_error& error) {
    fail_to_write(directory_, error.code().value());
  }
}

NetworkDirectory::Contents NetworkDirectory::survey() const {
  remove_stale_temporaries(target_.path, target_.path);
  const auto manifest = read_manifest(target_.path);
  Contents contents;
  for (const Path& path : list_directory(target_.path)) {
    const std::string name = path.filename().string();
    const bool known = name == kManifestName || names_.contains(name) || (manifest && manifest->files.contains(name));
    if (!known && parse_layer_name_in_any_case(name))
      throw DataError(fmt::format("{}: is not part of the network to be written there, expected a directory without it",
                                  (directory_ / name).string()));
    if (!known) {
      contents.others = true;
      continue;
    }
    const fs::file_type type = symlink_status(path).type();
    if (type == fs::file_type::not_found) continue;  // another writer has just removed it
    if (type != fs::file_type::regular && type != fs::file_type::symlink) fail_to_write(directory_ / name, EISDIR);
    if (::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) != 0 && errno != ENOENT)
      fail_to_write(directory_ / name, errno);  // its owner made it read-only
    contents.old_files.insert(name);
  }
  return contents;
}

void NetworkDirectory::stage() {
  if (!target_.now) {
    staging_.emplace(Temporary::Kind::directory, target_.path.parent_path(), target_.path, 0777);
    return;
  }
  const Contents contents = survey();
  if (contents.others || contents.old_files.empty() || !stage_beside()) stage_inside();
}

void NetworkDirectory::stage_inside() {
  staging_.emplace(Temporary::Kind::directory, target_.path, target_.path, 0777);
}

/// Returns false if the target cannot be exchanged with a directory beside it.
bool NetworkDirectory::stage_beside() {
  if (is_current_directory(*target_.now) || is_mount_point(target_.path, *target_.now) || has_attributes(target_.path))
    return false;
  try {
    staging_.emplace(Temporary::Kind::directory, target_.path.parent_path(), target_.path, 0700);
  } catch (const std::system_error&) {
    return false;
  }
  // The attributes are set before files are created, because files inherit the group of a set-group-id directory.
  if (copy_attributes(staging_->descriptor(), *target_.now)) return true;
  staging_.reset();
  return false;
}

void NetworkDirectory::commit(const NetworkManifest& manifest) {
  try {
    write_manifest(path(), manifest);
    if (!sync_directory(path())) fail();
    if (is_beside() && move_into_gap()) return;
    replace(manifest);
  } catch (const std::system_error& error) {
    fail_to_write(directory_, error.code().value());
  }
}

/// Returns false if the directory exists, whether from before or made by another writer.
bool NetworkDirectory::move_into_gap() {
  const auto hold = hold_temporaries();
  if (!rename_with(path(), target_.path, RENAME_NOREPLACE)) {
    // The file system lacks RENAME_NOREPLACE. Plain rename() does not replace a directory that is not empty.
    const bool renamed = errno == EINVAL && rename_with(path(), target_.path, 0);
    if (!renamed && (errno == EEXIST || errno == ENOTEMPTY)) return false;
    if (!renamed) fail();
  }
  staging_->put_in_place();
  if (!sync_directory(target_.path.parent_path())) fail();
  return true;
}

void NetworkDirectory::replace(const NetworkManifest& manifest) {
  const Descriptor locked = lock_directory(target_.path, DirectoryLock::exclusive);
  const Contents contents = survey();
  keep_attributes();
  if (is_beside() && !contents.others && !contents.old_files.empty() && exchange(contents)) return;
  replace_inside(contents, manifest);
}

/// Gives the new files the owner, group and mode of the old files of the same names.
void NetworkDirectory::keep_attributes() const {
  for (const Path& fresh : list_directory(path())) {
    struct stat old {};
    if (::lstat((target_.path / fresh.filename()).c_str(), &old) != 0 || !S_ISREG(old.st_mode)) continue;
    const Descriptor file(::open(fresh.c_str(), O_RDONLY | O_CLOEXEC));
    if (file) copy_attributes(file.get(), old);
  }
}

/// Returns false if the file system, or the location of the directory, does not allow it.
bool NetworkDirectory::exchange(const Contents& contents) {
  const auto hold = hold_temporaries();
  if (!rename_with(path(), target_.path, RENAME_EXCHANGE)) return false;
  if (!sync_directory(target_.path.parent_path())) fail();
  remove_old(contents);
  return true;
}

/// The old directory now has the temporary name. Files that other programs created in it at the last moment are moved
/// to the target.
void NetworkDirectory::remove_old(const Contents& contents) {
  for (const Path& old : list_directory(path())) {
    const Path name = old.filename();
    if (!contents.old_files.contains(name.string())) rename_with(old, target_.path / name, RENAME_NOREPLACE);
  }
  staging_.reset();
}

void NetworkDirectory::replace_inside(const Contents& contents, const NetworkManifest& manifest) {
  const auto hold = hold_temporaries();
  NetworkManifest incomplete{.complete = false, .files = manifest.files};
  for (const std::string& name : contents.old_files)
    if (name != kManifestName) incomplete.files.emplace(name, 0);
  write_manifest(target_.path, incomplete);
  for (const std::string& name : names_)
    if (!rename_with(path() / name, target_.path / name, 0)) fail();
  for (const std::string& name : contents.old_files)
    if (name != kManifestName && !names_.contains(name)) fs::remove(target_.path / name);
  if (!sync_directory(target_.path)) fail();
  if (!rename_with(path() / kManifestName, target_.path / kManifestName, 0) || !sync_directory(target_.path)) fail();
  staging_.reset();
}

void NetworkDirectory::write_manifest(const Path& directory, const NetworkManifest& manifest) const {
  write_text(directory / kManifestName, manifest.text());
}

void NetworkDirectory::fail() const { fail_to_write(directory_, errno); }

}  // namespace spdnn
