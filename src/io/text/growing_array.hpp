#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "core/host_memory.hpp"
#include "spdnn/array.hpp"

namespace spdnn {

/// An array that grows without being copied and without a second allocation beside it: pages are remapped, not moved.
/// New values are zero. Room that is reserved but never touched takes no memory. For arrays whose length only the end
/// of a file tells; a page (4 KiB) is the least it takes.
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

  /// Hands the values over, cut to whole pages; this array is empty afterwards.
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
    // Scattered writes into hundreds of MB miss the TLB on every one with small pages; the advice may be refused.
    if (bytes >= 8 * kHugePageBytes) ::madvise(fresh, bytes, MADV_HUGEPAGE);
  }

  T* data_ = nullptr;
  std::size_t bytes_ = 0;  ///< mapped
  std::size_t size_ = 0;
};

}  // namespace spdnn
