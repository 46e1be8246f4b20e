#include "io/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string>

#include "core/system_failure.hpp"

namespace spdnn {

namespace {

struct Descriptor {
  explicit Descriptor(int opened) : number(opened) {}
  ~Descriptor() {
    if (number >= 0) ::close(number);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number;
};

[[noreturn]] void fail(const std::filesystem::path& path, const std::string& what) {
  throw DataError(path.string() + ": cannot read: " + what);
}

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path, Access access) {
  // O_NONBLOCK: opening a pipe that nobody writes to must end in the message below, not hang.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.number < 0) throw_system_failure(path, "cannot read", errno);
  struct stat status {};
  if (::fstat(file.number, &status) != 0) throw_system_failure(path, "cannot read", errno);
  if (S_ISDIR(status.st_mode)) fail(path, "it is a directory, expected a file");
  if (!S_ISREG(status.st_mode)) fail(path, "it is a pipe or device, expected a regular file");

  size_ = static_cast<std::size_t>(status.st_size);
  if (size_ == 0) return;
  void* const address = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, file.number, 0);
  if (address == MAP_FAILED) throw_system_failure(path, "cannot read", errno);
  data_ = {static_cast<const std::byte*>(address),
           [size = size_](const std::byte* start) { ::munmap(const_cast<std::byte*>(start), size); }};
  if (access != Access::sequential) return;
  ::madvise(address, size_, MADV_SEQUENTIAL);
  will_need(bytes());
}

void will_need(std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const std::byte* const start = bytes.data() - reinterpret_cast<std::uintptr_t>(bytes.data()) % page;
  const auto length = static_cast<std::size_t>(bytes.data() + bytes.size() - start);
  // Advice only: a file system may ignore it.
  ::madvise(const_cast<std::byte*>(start), length, MADV_WILLNEED);
}

}  // namespace spdnn
