#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>

#include "spdnn/array.hpp"

namespace spdnn {

/// How many bytes of host memory the process may still take: the least of what the system has available, and of what
/// the cgroup of the process and those above it leave.
std::size_t available_host_bytes();

inline constexpr std::size_t kHugePageBytes = std::size_t{2} << 20U;

/// Uninitialised memory for `size` values that are written again and again; see allocate_bytes(). If it is at least one
/// huge page, it ends at the end of a page, so that all of it lies in huge pages: where memory is read at scattered
/// places, address translation with pages of 4 KiB would cost as much as the sums do.
template <class T>
class HostMemory {
 public:
  HostMemory() = default;
  explicit HostMemory(std::size_t size) : data_(allocate<T>(rounded(std::max<std::size_t>(size, 1)))), size_(size) {}
  T* data() const { return data_.get(); }
  std::size_t size() const { return size_; }

 private:
  static std::size_t rounded(std::size_t size) {
    constexpr std::size_t kValuesPerPage = kHugePageBytes / sizeof(T);
    return size < kValuesPerPage ? size : (size + kValuesPerPage - 1) / kValuesPerPage * kValuesPerPage;
  }

  std::shared_ptr<T[]> data_;
  std::size_t size_ = 0;
};

}  // namespace spdnn
