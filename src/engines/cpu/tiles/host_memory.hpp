#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>

namespace spdnn {

/// Uninitialised memory for `size` values on large pages where the system has them: tiles are read all over, and with
/// 4 KiB pages address translation would cost as much as the sums.
template <class T>
class HostMemory {
 public:
  HostMemory() = default;
  explicit HostMemory(std::size_t size) : size_(size) {
    constexpr std::size_t kLargePage = std::size_t{2} << 20U;
    constexpr std::size_t kTwoCacheLines = 128;
    const std::size_t bytes = size * sizeof(T);
    const std::size_t alignment = bytes >= kLargePage ? kLargePage : kTwoCacheLines;
    const std::size_t rounded = (std::max<std::size_t>(bytes, 1) + alignment - 1) / alignment * alignment;
    data_.reset(static_cast<T*>(std::aligned_alloc(alignment, rounded)));
    if (!data_) throw std::bad_alloc();
    if (alignment == kLargePage) madvise(data_.get(), rounded, MADV_HUGEPAGE);  // a hint: it may fail
  }
  T* data() const { return data_.get(); }
  std::size_t size() const { return size_; }

 private:
  struct Free {
    void operator()(T* data) const { std::free(data); }  // NOLINT(cppcoreguidelines-no-malloc)
  };
  std::unique_ptr<T, Free> data_;
  std::size_t size_ = 0;
};

}  // namespace spdnn
