#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "io/input_file.hpp"

struct XXH3_state_s;

namespace spdnn {

/// The 64-bit XXH3 of a file, piece by piece from its beginning.
class FileDigest {
 public:
  FileDigest();
  void add(std::span<const std::byte> bytes);
  /// 16 digits, hexadecimal, of what was added so far.
  std::string text() const;

 private:
  std::unique_ptr<XXH3_state_s, void (*)(XXH3_state_s*)> state_;
};

/// The digest of all of a file, at the speed at which it is read.
std::string digest_text(const InputFile& file);

}  // namespace spdnn
