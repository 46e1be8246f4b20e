#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/gz.hpp"
#include "io/mapped_file.hpp"

namespace spdnn {

/// Text read from its beginning in rounds of whole lines: a mapped file, a .gz file decompressed round by round, or
/// memory. The memory taken does not depend on the length of the text.
class TextSource {
 public:
  /// A file; one whose name ends in .gz is decompressed. DataError where it cannot be read or has no byte in it (what a
  /// failed copy leaves behind; a text without entries is one blank line).
  explicit TextSource(const std::filesystem::path& path);
  /// Text in memory, which must outlive the source; `name` stands for the file in messages.
  TextSource(std::string name, std::string_view text);

  const std::string& name() const { return name_; }
  /// Bytes of text: exact for plain text, an estimate from experience for .gz.
  std::size_t expected_bytes() const;

  /// The next round: about `bytes` long, ending behind an LF or at the end of the text; empty once all is read. Valid
  /// until the next call.
  std::string_view next(std::size_t bytes);
  /// The last `bytes` of the latest round belong to the next one.
  void put_back(std::size_t bytes);
  /// Back to the beginning.
  void rewind();

 private:
  std::string_view next_plain(std::size_t bytes);
  std::string_view next_gz(std::size_t bytes);

  std::string name_;
  std::optional<MappedFile> file_;
  std::string_view text_;     ///< of plain text
  std::size_t position_ = 0;  ///< in text_; of .gz, 0 only before the first round
  std::unique_ptr<GzReader> gz_;
  std::vector<char> buffer_;  ///< of .gz: the round, and behind it the beginning of the line cut by its end
  std::size_t used_ = 0;      ///< of buffer_
  std::size_t given_ = 0;     ///< of buffer_: the last round
};

}  // namespace spdnn
