#include "io/files/atomic_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <deque>
#include <iterator>
#include <string>
#include <system_error>

namespace spdnn {

namespace fs = std::filesystem;

namespace {

/// Returns n if the path leads to open file n of this process, as /dev/stdout does; otherwise -1.
int own_descriptor(const fs::path& path) {
  if (path.parent_path() != fmt::format("/proc/{}/fd", ::getpid())) return -1;
  const std::string name = path.filename().string();
  int number = -1;
  std::from_chars(name.data(), name.data() + name.size(), number);
  return number;
}

/// The file that currently has the target name. A hard link keeps it under a second name, which later writers treat as
/// that of a temporary, so that it can be restored.
class EarlierFile {
 public:
  EarlierFile(const fs::path& target, const fs::path& temporary)
      : target_(target), kept_(temporary.parent_path() / (temporary.stem().string() + "-earlier.tmp")) {
    is_kept_ = ::link(target_.c_str(), kept_.c_str()) == 0;
    was_there_ = is_kept_ || errno != ENOENT;
  }
  EarlierFile(const EarlierFile&) = delete;
  EarlierFile& operator=(const EarlierFile&) = delete;
  ~EarlierFile() {
    if (is_kept_) ::unlink(kept_.c_str());
  }

  /// Restores the name after the new file has taken it. Returns false if that fails and the new file keeps the name.
  bool take_back() {
    if (!was_there_) return ::unlink(target_.c_str()) == 0;
    if (!is_kept_ || ::rename(kept_.c_str(), target_.c_str()) != 0) return false;
    is_kept_ = false;
    return true;
  }

 private:
  fs::path target_;
  fs::path kept_;
  bool is_kept_ = false;
  bool was_there_ = false;
};

}  // namespace

AtomicFile::AtomicFile(const fs::path& path) : path_(path) {
  if (const auto name = name_in_target(path)) {
    path_ = *name;
    target_.path = path;
    open_in_place();
    return;
  }
  target_ = find_output_file(path);
  if (target_.direct())
    open_directly();
  else
    open_temporary();
}

void AtomicFile::open_directly() {
  // An open file of this process is duplicated, so that its other output and ours do not overwrite each other.
  const int own = own_descriptor(target_.path);
  is_stdout_ = own == STDOUT_FILENO;
  file_ = Descriptor(own >= 0 ? ::fcntl(own, F_DUPFD_CLOEXEC, 0) : ::open(target_.path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file_) fail();
}

/// The file lies in a temporary directory, which is renamed as a whole.
void AtomicFile::open_in_place() {
  const auto hold = hold_temporaries();
  file_ = Descriptor(::open(target_.path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!file_) fail();
}

void AtomicFile::open_temporary() {
  try {
    temporary_.emplace(Temporary::Kind::file, target_.path.parent_path(), target_.path, target_.now ? 0600 : 0666);
  } catch (const std::system_error& error) {
    fail_to_write(path_, error.code().value());
  }
  // This is a second descriptor, because the first one keeps the lock until the file has its name.
  file_ = Descriptor(::fcntl(temporary_->descriptor(), F_DUPFD_CLOEXEC, 0));
  if (!file_) fail();
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file_.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail();
    size_ += static_cast<std::uint64_t>(written);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void AtomicFile::write_at(std::uint64_t position, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(position));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == ESPIPE)
      throw DataError(path_.string() +
                      ": cannot write: it is a pipe, expected a file: this format is not written sequentially");
    if (written < 0) fail();
    position += static_cast<std::uint64_t>(written);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void AtomicFile::sync() {
  if (!file_) return;
  if (temporary_ && target_.now) copy_attributes(file_.get(), *target_.now);  // writing may clear set-group-id
  if (!target_.direct() && ::fsync(file_.get()) != 0) fail();
  if (::close(file_.release()) != 0) fail();  // network file systems report a full disk only here
}

void AtomicFile::commit_together(const std::vector<AtomicFile*>& files) {
  for (AtomicFile* const file : files)
    if (file != nullptr) file->sync();
  std::vector<AtomicFile*> renamed;
  std::copy_if(files.begin(), files.end(), std::back_inserter(renamed),
               [](const AtomicFile* file) { return file != nullptr && file->is_temporary(); });
  const auto hold = hold_temporaries();
  if (renamed.size() == 1) renamed[0]->put_in_place();
  if (renamed.size() > 1) put_in_place(renamed);
  for (AtomicFile* const file : renamed)
    if (!sync_directory(file->target_.path.parent_path())) file->fail();
}

void AtomicFile::put_in_place() {
  if (::rename(temporary_->path().c_str(), target_.path.c_str()) != 0) fail();
  temporary_->put_in_place();
}

void AtomicFile::put_in_place(const std::vector<AtomicFile*>& files) {
  std::deque<EarlierFile> earlier;
  std::size_t done = 0;
  const auto take_back = [&] {
    std::string left;
    while (done-- > 0)
      if (!earlier[done].take_back()) left += fmt::format("; {} is in place already", files[done]->path_.string());
    return left;
  };
  try {
    for (; done < files.size(); ++done) {
      earlier.emplace_back(files[done]->target_.path, files[done]->temporary_->path());
      files[done]->put_in_place();
    }
  } catch (const DataError& error) {
    throw DataError(error.what() + take_back());
  } catch (const DeviceError& error) {
    throw DeviceError(error.what() + take_back());
  } catch (...) {
    take_back();
    throw;
  }
}

void AtomicFile::fail() const {
  if (is_stdout_ && errno == EPIPE)
    throw ClosedStdout(path_.string() + ": cannot write: its reader has closed the pipe");
  fail_to_write(path_, errno);
}

bool sync_directory(const fs::path& directory) {
  const Descriptor opened(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return !opened || ::fsync(opened.get()) == 0 || errno == EINVAL;
}

}  // namespace spdnn
