#pragma once

#include <zlib.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "io/input_file.hpp"

namespace spdnn {

/// What is wrong with gzip data, and how many bytes of the read were good.
struct GzProblem {
  std::string message;
  std::size_t good;  ///< bytes
};

/// Decompresses a gzip file piece by piece. Successive members are one stream; zero bytes after the last member (tape
/// padding) are skipped. zlib checks checksums and lengths.
class GzReader {
 public:
  /// The file must outlive the reader.
  explicit GzReader(const InputFile& file);
  ~GzReader();
  GzReader(const GzReader&) = delete;
  GzReader& operator=(const GzReader&) = delete;

  /// Fills `out` as far as there is data. Less than that is returned only at the end, when everything has been checked.
  /// Throws GzProblem for data that is not gzip, damaged or cut off.
  std::size_t read(std::span<char> out);

 private:
  bool start_member();
  void feed();

  const InputFile& file_;
  std::size_t position_ = 0;  ///< in the file, of the first byte that zlib has not been given
  std::unique_ptr<std::byte[]> piece_;
  z_stream stream_{};
  bool inside_ = false;  ///< a member has begun and not ended
};

/// Compresses the text to one gzip member. Files may have several members, so pieces can be compressed in parallel.
std::string gzip(std::string_view text);

}  // namespace spdnn
