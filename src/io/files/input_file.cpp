#include "io/files/input_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>

#include "core/system/system_failure.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

std::int64_t nanoseconds(const timespec& time) { return time.tv_sec * kSecond + time.tv_nsec; }

/// Waits until a later write would get a later timestamp. File timestamps advance every 1 to 10 ms, so only a file
/// written a moment ago causes a wait.
void await_next_tick(std::int64_t modified) {
  constexpr timespec kMoment{0, 500'000};
  for (;;) {
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME_COARSE, &now);
    if (shows_later_writes(modified, nanoseconds(now))) return;
    ::nanosleep(&kMoment, nullptr);
  }
}

}  // namespace

bool shows_later_writes(std::int64_t modified, std::int64_t now) {
  constexpr std::int64_t kLongestTick = 20'000'000;
  return now > modified || now < modified - kLongestTick;
}

InputFile::InputFile(const std::filesystem::path& path)
    : name_(path.string()),
      // O_NONBLOCK: opening a pipe without a writer must fail with the message below instead of hanging.
      file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  if (!file_ || ::fstat(file_.get(), &opened_) != 0) throw_system_failure(name_, "cannot read", errno);
  if (S_ISDIR(opened_.st_mode)) fail("cannot read: it is a directory, expected a file");
  if (!S_ISREG(opened_.st_mode)) fail("cannot read: it is a pipe or device, expected a regular file");
  size_ = static_cast<std::size_t>(opened_.st_size);
  await_next_tick(nanoseconds(opened_.st_mtim));
}

void InputFile::fail(const std::string& what) const { throw DataError(name_ + ": " + what); }

void InputFile::will_need(std::size_t offset, std::size_t size) const {
  // This is advice only, which a file system may ignore.
  if (!file_) return;
  ::posix_fadvise(file_.get(), static_cast<off_t>(offset), static_cast<off_t>(size), POSIX_FADV_WILLNEED);
}

void InputFile::read(std::size_t offset, std::span<std::byte> to) const {
  if (!file_) {
    if (!to.empty()) std::memcpy(to.data(), memory_.data() + offset, to.size());
    return;
  }
  while (!to.empty()) {
    const std::size_t got = read_some(offset, to);
    if (got == 0) fail(fmt::format("changed while it was being read: it ends after {} of {} bytes", offset, size_));
    offset += got;
    to = to.subspan(got);
  }
}

/// Returns the number of bytes read, 0 only at the end of the file.
std::size_t InputFile::read_some(std::size_t offset, std::span<std::byte> to) const {
  for (;;) {
    const ssize_t got = ::pread(file_.get(), to.data(), to.size(), static_cast<off_t>(offset));
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR) throw_system_failure(name_, "cannot read", errno);
  }
}

void InputFile::check_unchanged() const {
  if (!file_) return;
  struct stat now {};
  if (::fstat(file_.get(), &now) != 0) throw_system_failure(name_, "cannot read", errno);
  if (now.st_size != opened_.st_size)
    fail(fmt::format("changed while it was being read: it has {} bytes, expected {}", now.st_size, size_));
  if (nanoseconds(now.st_mtim) != nanoseconds(opened_.st_mtim))
    fail("changed while it was being read: it was written to");
  std::byte beyond{};
  if (read_some(size_, {&beyond, 1}) != 0)
    fail(fmt::format("holds more than the {} bytes that the system reports, expected a regular file", size_));
}

std::string text_of(const InputFile& file) {
  std::string text(file.size(), '\0');
  file.read(0, std::as_writable_bytes(std::span(text)));
  file.check_unchanged();
  return text;
}

std::string text_of_file(const std::filesystem::path& path) { return text_of(InputFile(path)); }

}  // namespace spdnn
