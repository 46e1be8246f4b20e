#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "io/input_file.hpp"
#include "io/text/gz.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

/// No line may be longer, as the round that holds it would take any amount of memory.
inline constexpr std::size_t kLongestLine = std::size_t{1} << 20;

/// Bytes of text per byte of a .gz file: official layers shrink to a seventh or a ninth.
inline constexpr std::size_t kGzRatio = 8;

/// A text that is read from its beginning in rounds of whole lines; a file whose name ends in .gz is decompressed. The
/// memory needed is that of a round, and does not depend on the length of the text.
class TextSource {
 public:
  /// How much one thread parses at a time, so that its entries stay in the cache. With one thread, 128 KiB to 512 KiB
  /// take equally long.
  static constexpr std::size_t kPieceBytes = std::size_t{512} << 10;

  /// One of several parts of a text, which together have each of its lines once.
  struct Part {
    std::size_t number = 0;
    std::size_t of = 1;
  };

  /// Opens a file. DataError where it cannot be read.
  explicit TextSource(const std::filesystem::path& path);
  /// Opens a part of a file, which is not compressed. Its messages count lines from the beginning of the part.
  TextSource(const std::filesystem::path& path, Part part);
  /// Reads from a text in memory, which must outlive the source; `name` stands for the file in messages. Tests use
  /// small pieces, with which the readers handle a short text as they do a long one.
  TextSource(std::string name, std::string_view text, std::size_t piece_bytes = kPieceBytes);
  TextSource(const TextSource&) = delete;
  TextSource& operator=(const TextSource&) = delete;
  ~TextSource();

  const std::string& name() const { return file_.name(); }
  /// The number of bytes of text: exact for plain text, an estimate from experience for .gz.
  std::size_t expected_bytes() const;
  std::size_t piece_bytes() const { return piece_bytes_; }

  /// The next round: at most `bytes`, or one line if that is longer. It ends after an LF or at the end of the text, is
  /// empty once all has been read, and is valid until the next call. DataError for damaged .gz data, for a line that is
  /// too long, and, at the end at the latest, for a file that was changed while it was read.
  std::string_view next(std::size_t bytes);
  /// Moves the last `bytes` of the latest round to the next one.
  void put_back(std::size_t bytes) { given_ -= bytes; }
  /// Goes back to the beginning.
  void rewind();
  /// Whether no byte of text has been read so far.
  bool empty() const { return offset_ + used_ == 0; }
  /// Whether the text, which has been read to its end, ends without an LF: its last number may have lost digits.
  bool ends_within_line() const { return ends_within_line_; }
  /// DataError, at the end of the text, where it does.
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
  std::size_t begin_ = 0;           ///< plain text: of what is read, in the file
  std::size_t end_ = 0;             ///< plain text: likewise
  std::size_t position_ = 0;        ///< plain text: where in the file to read next
  std::shared_ptr<char[]> buffer_;  ///< the round, and after it the beginning of the line that its end has cut
  std::size_t capacity_ = 0;
  std::size_t used_ = 0;    ///< bytes of buffer_ in use
  std::size_t given_ = 0;   ///< bytes of buffer_ that are the latest round
  std::size_t offset_ = 0;  ///< where in the text buffer_ begins
  bool ends_within_line_ = false;
};

}  // namespace spdnn
