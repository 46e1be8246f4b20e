#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>

#include "spdnn/array.hpp"

namespace spdnn {

/// The number of bytes of host memory that the process may still use: the minimum of the system's available memory and
/// of the rest granted by the process's cgroup and its ancestors.
std::size_t available_host_bytes();

inline constexpr std::size_t kHugePageBytes = std::size_t{2} << 20U;

/// Uninitialised memory for `size` values that are overwritten repeatedly; see allocate_bytes(). If it is at least one
/// huge page, it ends at the end of a page, so that all of it lies in huge pages: for scattered reads, address
/// translation with 4 KiB pages would cost as much as the sums.
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
