#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "core/system/host_memory.hpp"
#include "spdnn/array.hpp"

namespace spdnn {

/// An array that grows without copying or a second allocation: its pages are remapped. New values are zero. Capacity
/// that is never touched takes no memory. It is meant for arrays whose length is known only at the end of a file, and
/// takes at least a page (4 KiB).
template <class T>
class GrowingArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  GrowingArray() = default;
  GrowingArray(const GrowingArray&) = delete;
  GrowingArray& operator=(const GrowingArray&) = delete;
  GrowingArray(GrowingArray&& other) noexcept { swap(other); }
  GrowingArray& operator=(GrowingArray&& other) noexcept {
    GrowingArray(std::move(other)).swap(*this);
    return *this;
  }
  ~GrowingArray() {
    if (data_ != nullptr) ::munmap(data_, bytes_);
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const { return size_; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }

  void grow(std::size_t size) {
    if (size * sizeof(T) > bytes_) remap(std::max(pages(size), bytes_ + bytes_ / 2));
    size_ = std::max(size_, size);
  }

  /// Moves the values out, trimmed to whole pages, and leaves this array empty.
  Array<T> freeze() {
    if (size_ == 0) return {};
    if (pages(size_) < bytes_) remap(pages(size_));
    GrowingArray released;
    released.swap(*this);
    T* const data = std::exchange(released.data_, nullptr);
    const auto unmap = [bytes = released.bytes_](const T* p) { ::munmap(const_cast<T*>(p), bytes); };
    return {std::shared_ptr<const T[]>(data, unmap), released.size_};
  }

 private:
  static constexpr std::size_t kPage = 4096;

  static std::size_t pages(std::size_t size) { return (size * sizeof(T) + kPage - 1) / kPage * kPage; }

  void swap(GrowingArray& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(size_, other.size_);
  }

  void remap(std::size_t bytes) {
    void* const fresh = data_ == nullptr
                            ? ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                            : ::mremap(data_, bytes_, bytes, MREMAP_MAYMOVE);
    if (fresh == MAP_FAILED) throw std::bad_alloc();
    data_ = static_cast<T*>(fresh);
    bytes_ = bytes;
    // With small pages, scattered writes into hundreds of MB would all miss the TLB. The kernel may ignore the advice.
    if (bytes >= 8 * kHugePageBytes) ::madvise(fresh, bytes, MADV_HUGEPAGE);
  }

  T* data_ = nullptr;
  std::size_t bytes_ = 0;  ///< mapped bytes
  std::size_t size_ = 0;
};

}  // namespace spdnn
