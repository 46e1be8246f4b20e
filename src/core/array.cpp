#include "spdnn/array.hpp"

#include <sys/mman.h>

#include <cstdlib>
#include <new>

namespace spdnn {

std::shared_ptr<std::byte> allocate_bytes(std::size_t size) {
  constexpr std::size_t kCacheLine = 64;
  constexpr std::size_t kHugePage = std::size_t{2} << 20;
  const bool huge = size >= kHugePage;
  const std::size_t alignment = huge ? kHugePage : kCacheLine;
  void* memory = nullptr;
  if (::posix_memalign(&memory, alignment, size) != 0) throw std::bad_alloc();
  if (huge) ::madvise(memory, size / kHugePage * kHugePage, MADV_HUGEPAGE);  // whole pages of this block only
  return {static_cast<std::byte*>(memory), [](std::byte* start) { std::free(start); }};
}

}  // namespace spdnn
