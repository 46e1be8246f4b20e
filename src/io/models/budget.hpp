#pragma once

#include <cstddef>
#include <string>

#include "spdnn/error.hpp"

namespace spdnn {

/// Bounds the memory used for a file in proportion to its size and that of the files it names. Otherwise a few bytes
/// could name the same weights many times, or join a constant to itself repeatedly.
class Budget {
 public:
  Budget(std::string file, std::size_t file_bytes) : file_(std::move(file)) { allow(file_bytes); }

  /// Adds the allowance for one more file of this size.
  void allow(std::size_t file_bytes) { left_ += kTimes * file_bytes; }
  /// Throws DataError if fewer than `bytes` bytes are left.
  void take(std::size_t bytes) {
    if (bytes > left_)
      throw DataError(file_ +
                      ": the constants take far more memory than the file has bytes; one of them is copied repeatedly");
    left_ -= bytes;
  }

 private:
  static constexpr std::size_t kFirst = std::size_t{64} << 20U;
  /// A byte becomes a 64-bit integer, fp32, multiplied by a scale, less a zero point, transposed, CSR with indices: 32.
  static constexpr std::size_t kTimes = 40;
  std::string file_;
  std::size_t left_ = kFirst;
};

}  // namespace spdnn
