#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "io/files/input_file.hpp"

struct XXH3_state_s;

namespace spdnn {

/// The 64-bit XXH3 of a file, computed piece by piece.
class FileDigest {
 public:
  FileDigest();
  void add(std::span<const std::byte> bytes);
  /// The digest so far as 16 hexadecimal digits.
  std::string text() const;

 private:
  std::unique_ptr<XXH3_state_s, void (*)(XXH3_state_s*)> state_;
};

/// The digest of a whole file, at reading speed.
std::string digest_text(const InputFile& file);

}  // namespace spdnn
