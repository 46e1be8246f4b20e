#pragma once

#include <zlib.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "io/files/input_file.hpp"

namespace spdnn {

/// A problem in gzip data, and the number of bytes decompressed correctly.
struct GzProblem {
  std::string message;
  std::size_t good;  ///< bytes
};

/// Decompresses a gzip file piece by piece. Successive members form one stream; zero bytes after the last member (tape
/// padding) are skipped. zlib verifies checksums and lengths.
class GzReader {
 public:
  /// The file must outlive the reader.
  explicit GzReader(const InputFile& file);
  ~GzReader();
  GzReader(const GzReader&) = delete;
  GzReader& operator=(const GzReader&) = delete;

  /// Fills `out` as far as there is data; returns less only at the end, after all checks. Throws GzProblem for data
  /// that are not gzip, damaged or truncated.
  std::size_t read(std::span<char> out);

 private:
  bool start_member();
  void feed();

  const InputFile& file_;
  std::size_t position_ = 0;  ///< file offset of the first byte not yet passed to zlib
  std::unique_ptr<std::byte[]> piece_;
  z_stream stream_{};
  bool inside_ = false;  ///< a member has begun and not ended
};

/// Compresses the text to one gzip member. Files may have several members, so pieces can be compressed in parallel.
std::string gzip(std::string_view text);

}  // namespace spdnn
