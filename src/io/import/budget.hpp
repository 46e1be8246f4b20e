#pragma once

#include <cstddef>
#include <string>

#include "spdnn/error.hpp"

namespace spdnn {

/// Bounds the memory that a file is given by the size of the file, and of the files that it names. A few bytes in a
/// file may name the same weights many times, or join a constant to itself again and again.
class Budget {
 public:
  Budget(std::string file, std::size_t file_bytes) : file_(std::move(file)) { allow(file_bytes); }

  /// There is one more file of this size.
  void allow(std::size_t file_bytes) { left_ += kTimes * file_bytes; }
  /// Throws DataError where that many bytes are more than what is left.
  void take(std::size_t bytes) {
    if (bytes > left_)
      throw DataError(file_ +
                      ": the constants take far more memory than the file has bytes; one must have been copied "
                      "again and again");
    left_ -= bytes;
  }

 private:
  static constexpr std::size_t kFirst = std::size_t{64} << 20U;
  static constexpr std::size_t kTimes = 16;  // fp16 to fp32, then transposed, then CSR with indices, and as much again
  std::string file_;
  std::size_t left_ = kFirst;
};

}  // namespace spdnn
