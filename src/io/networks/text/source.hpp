#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "io/files/input_file.hpp"
#include "io/networks/text/gz.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

/// The longest accepted line: the round that holds a line would otherwise need unlimited memory.
inline constexpr std::size_t kLongestLine = std::size_t{1} << 20;

/// Typical ratio of text to .gz bytes: official layers shrink to a seventh or a ninth.
inline constexpr std::size_t kGzRatio = 8;

/// A text read from its beginning in rounds of whole lines; a file whose name ends in .gz is decompressed. Memory is
/// that of one round, independent of the length of the text.
class TextSource {
 public:
  /// Bytes that one thread parses at a time, so that its entries stay in the cache. With one thread, 128 KiB to 512 KiB
  /// take the same time.
  static constexpr std::size_t kPieceBytes = std::size_t{512} << 10;

  /// One of several parts of a text, which together contain each line once.
  struct Part {
    std::size_t number = 0;
    std::size_t of = 1;
  };

  /// Opens a file. DataError if it cannot be read.
  explicit TextSource(const std::filesystem::path& path);
  /// Opens a part of an uncompressed file. Its messages count lines from the beginning of the part.
  TextSource(const std::filesystem::path& path, Part part);
  /// Reads a text in memory, which must outlive the source; `name` is the file's name in messages. Tests use small
  /// pieces, so that a short text is handled like a long one.
  TextSource(std::string name, std::string_view text, std::size_t piece_bytes = kPieceBytes);
  TextSource(const TextSource&) = delete;
  TextSource& operator=(const TextSource&) = delete;
  ~TextSource();

  const std::string& name() const { return file_.name(); }
  /// The number of bytes of text: exact for plain text, an estimate for .gz.
  std::size_t expected_bytes() const;
  std::size_t piece_bytes() const { return piece_bytes_; }

  /// The next round: at most `bytes`, or one line if that is longer. It ends after an LF or at the end of the text, is
  /// empty at the end, and is valid until the next call. DataError for damaged .gz data, for a line that is too long,
  /// and, at the latest at the end, for a file that was changed during reading.
  std::string_view next(std::size_t bytes);
  /// Moves the last `bytes` of the latest round to the next one.
  void put_back(std::size_t bytes) { given_ -= bytes; }
  /// Goes back to the beginning.
  void rewind();
  /// Whether no byte of text has been read so far.
  bool empty() const { return offset_ + used_ == 0; }
  /// Whether the text, read to its end, ends without an LF: its last number may be truncated.
  bool ends_within_line() const { return ends_within_line_; }
  /// DataError at the end of the text if it does.
  void require_whole_lines();

 private:
  bool fill(std::size_t bytes);
  std::size_t read(std::span<char> to);
  std::size_t read_gz(std::span<char> to);
  void reserve(std::size_t bytes);
  [[noreturn]] void fail_at(std::size_t offset, const std::string& what);
  std::size_t line_from(std::size_t position) const;

  InputFile file_;
  std::size_t piece_bytes_ = kPieceBytes;
  std::unique_ptr<GzReader> gz_;
  std::size_t begin_ = 0;           ///< plain text: beginning of the part, in the file
  std::size_t end_ = 0;             ///< plain text: end of the part
  std::size_t position_ = 0;        ///< plain text: the next file offset to read
  std::shared_ptr<char[]> buffer_;  ///< the round, then the beginning of a line that it cut
  std::size_t capacity_ = 0;
  std::size_t used_ = 0;    ///< bytes of buffer_ in use
  std::size_t given_ = 0;   ///< bytes of buffer_ in the latest round
  std::size_t offset_ = 0;  ///< text offset of the beginning of buffer_
  bool ends_within_line_ = false;
};

}  // namespace spdnn
