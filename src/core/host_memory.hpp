#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>

#include "spdnn/array.hpp"

namespace spdnn {

/// Bytes of the host's memory that the process may still take: the least of what the system has available and of what
/// the process's cgroup and those above it leave.
std::size_t available_host_bytes();

inline constexpr std::size_t kHugePageBytes = std::size_t{2} << 20U;

/// Uninitialised memory for `size` values, to be written again and again; see allocate_bytes(). From one huge page up
/// it ends on a page's bound, so that all of it lies in huge pages: where memory is read all over, address translation
/// with 4 KiB pages would cost as much as sums do.
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
