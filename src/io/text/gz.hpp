#pragma once

#include <zlib.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "io/input_file.hpp"

namespace spdnn {

/// What is wrong with gzip data, and how much of what a read asked for came out before.
struct GzProblem {
  std::string message;
  std::size_t good;  ///< bytes
};

/// Decompresses a gzip file, a piece at a time. Members that follow one another are one stream; zero bytes after the
/// last (tape padding) are passed over. Checksums and lengths are checked by zlib.
class GzReader {
 public:
  /// The file must outlive the reader.
  explicit GzReader(const InputFile& file);
  ~GzReader();
  GzReader(const GzReader&) = delete;
  GzReader& operator=(const GzReader&) = delete;

  /// Fills `out` as far as there is data; less than asked for only at the end, which has been checked then. GzProblem
  /// for data that is not gzip, damaged or cut off.
  std::size_t read(std::span<char> out);

 private:
  bool start_member();
  void feed();

  const InputFile& file_;
  std::size_t position_ = 0;  ///< in the file, of what was not yet handed to zlib
  std::unique_ptr<std::byte[]> piece_;
  z_stream stream_{};
  bool inside_ = false;  ///< a member has begun and not ended
};

/// `text` as one gzip member. Members may follow one another, so pieces are compressed in parallel.
std::string gzip(std::string_view text);

}  // namespace spdnn
