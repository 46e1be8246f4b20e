#pragma once

#include <zlib.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace spdnn {

/// Decompresses gzip data held in memory (a mapped file), a piece at a time. Members that follow one another are one
/// stream; zero bytes behind the last (tape padding) are passed over. Checksums and lengths are checked by zlib.
class GzReader {
 public:
  /// `name` is for messages; `bytes` must outlive the reader.
  GzReader(std::string name, std::span<const std::byte> bytes);
  ~GzReader();
  GzReader(const GzReader&) = delete;
  GzReader& operator=(const GzReader&) = delete;

  /// Fills `out` as far as there is data; less than asked for only at the end. DataError for data that is no gzip,
  /// damaged or cut off.
  std::size_t read(std::span<char> out);

 private:
  bool start_member();
  void feed();
  [[noreturn]] void fail(const std::string& what) const;

  std::string name_;
  std::span<const std::byte> bytes_;  ///< not yet handed to zlib
  z_stream stream_{};
  bool inside_ = false;  ///< a member has begun and not ended
};

/// `text` as one gzip member. Members may be put one behind the other, so pieces are compressed in parallel.
std::string gzip(std::string_view text);

}  // namespace spdnn
