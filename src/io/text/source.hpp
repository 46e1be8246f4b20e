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

/// No line may be longer: the round that holds it would take any amount of memory.
inline constexpr std::size_t kLongestLine = std::size_t{1} << 20;

/// Bytes of text for each of a .gz file: official layers shrink 7 to 9 times.
inline constexpr std::size_t kGzRatio = 8;

/// Text read from its beginning in rounds of whole lines; a file whose name ends in .gz is decompressed. The memory
/// taken is that of a round and does not depend on the length of the text.
class TextSource {
 public:
  /// What one thread parses at a time: its entries stay in the cache. 128 KiB to 512 KiB measured alike, with one
  /// thread.
  static constexpr std::size_t kPieceBytes = std::size_t{512} << 10;

  /// DataError where the file cannot be read.
  explicit TextSource(const std::filesystem::path& path);
  /// Text in memory, which must outlive the source; `name` stands for the file in messages. Small pieces are for tests:
  /// they make the readers put the pieces of a short text together as they do with a long one.
  TextSource(std::string name, std::string_view text, std::size_t piece_bytes = kPieceBytes);
  TextSource(const TextSource&) = delete;
  TextSource& operator=(const TextSource&) = delete;
  ~TextSource();

  const std::string& name() const { return file_.name(); }
  /// Bytes of text: exact for plain text, an estimate from experience for .gz.
  std::size_t expected_bytes() const;
  std::size_t piece_bytes() const { return piece_bytes_; }

  /// The next round: at most `bytes`, or a line, ending after an LF or at the end of the text; empty once all is read.
  /// Valid until the next call. DataError for damaged .gz data, for a line that is too long, and, at the end at the
  /// latest, for a file that was changed while it was read.
  std::string_view next(std::size_t bytes);
  /// The last `bytes` of the latest round belong to the next one.
  void put_back(std::size_t bytes) { given_ -= bytes; }
  /// Back to the beginning.
  void rewind();
  /// Not a byte of text has come so far.
  bool empty() const { return offset_ + used_ == 0; }

 private:
  bool fill(std::size_t bytes);
  std::size_t read(std::span<char> to);
  std::size_t read_gz(std::span<char> to);
  void reserve(std::size_t bytes);
  [[noreturn]] void fail_at(std::size_t offset, const std::string& what);

  InputFile file_;
  std::size_t piece_bytes_ = kPieceBytes;
  std::unique_ptr<GzReader> gz_;
  std::size_t position_ = 0;        ///< of plain text: in the file, what is read next
  std::shared_ptr<char[]> buffer_;  ///< the round, and after it the beginning of the line cut by its end
  std::size_t capacity_ = 0;
  std::size_t used_ = 0;    ///< of buffer_
  std::size_t given_ = 0;   ///< of buffer_: the latest round
  std::size_t offset_ = 0;  ///< of buffer_ in the text
};

}  // namespace spdnn
