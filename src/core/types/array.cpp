#include "spdnn/array.hpp"

#include <sys/mman.h>

#include <cstdlib>

#include "core/system/host_memory.hpp"

namespace spdnn {

std::shared_ptr<std::byte> allocate_bytes(std::size_t size) {
  constexpr std::size_t kTwoCacheLines = 128;  // which processors fetch together
  const bool huge = size >= kHugePageBytes;
  const std::size_t alignment = huge ? kHugePageBytes : kTwoCacheLines;
  void* memory = nullptr;
  if (::posix_memalign(&memory, alignment, size) != 0) throw std::bad_alloc();
  if (huge) ::madvise(memory, size / kHugePageBytes * kHugePageBytes, MADV_HUGEPAGE);  // whole pages of this block only
  return {static_cast<std::byte*>(memory), [](std::byte* start) { std::free(start); }};
}

}  // namespace spdnn
