#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "io/files/atomic_file.hpp"
#include "spdnn/csr_matrix.hpp"

namespace spdnn {

/// Writes a text file in pieces, formatted in parallel and written in order; each is compressed as a gzip member if the
/// name ends in .gz. An empty text becomes one blank line, because an empty file looks like a failed copy. `format`
/// fills the string of a piece, which may contain old text. The caller commits.
void write_in_pieces(AtomicFile& file, std::size_t pieces,
                     const std::function<void(std::size_t piece, std::string& text)>& format);
/// The same for a new AtomicFile, which is committed.
void write_in_pieces(const std::filesystem::path& path, std::size_t pieces,
                     const std::function<void(std::size_t piece, std::string& text)>& format);

/// Cuts a matrix into ranges of rows with about the same number of entries; range i has rows cuts[i] .. cuts[i+1]-1.
std::vector<Index> cut_rows(const CsrMatrix& matrix);

/// A weight formatted as in official files, `6.250000e-02`, if these digits recover the same fp32 number; otherwise the
/// shortest text that does.
std::string weight_text(float value);
/// The shortest text that gives the same value when it is read.
std::string value_text(float value);
std::string value_text(double value);

/// The common end of many successive lines. It is copied with a fixed number of bytes, which is faster than a variable
/// number.
class LineEnd {
 public:
  static constexpr std::size_t kMost = 32;
  explicit LineEnd(std::string_view text) : size_(text.copy(bytes_.data(), kMost)) {}

  /// Writes kMost bytes to `position` and returns the end of the actual text.
  char* put(char* position) const {
    std::copy(bytes_.begin(), bytes_.end(), position);
    return position + size_;
  }

 private:
  std::array<char, kMost> bytes_{};
  std::size_t size_;
};

/// Fills a text of known maximum length from its beginning; the destructor trims it.
class TextFiller {
 public:
  TextFiller(std::string& text, std::size_t most) : text_(text) {
    text_.resize(most + LineEnd::kMost);
    position_ = text_.data();
  }
  TextFiller(const TextFiller&) = delete;
  TextFiller& operator=(const TextFiller&) = delete;
  ~TextFiller() { text_.resize(static_cast<std::size_t>(position_ - text_.data())); }

  /// Appends a 0-based id in its 1-based file form.
  void add_id(Index id) {
    constexpr std::size_t kMostDigits = 10;
    position_ = std::to_chars(position_, position_ + kMostDigits, id + 1).ptr;
  }
  /// The length of the longest id among `count`.
  static std::size_t most_digits(Index count) { return std::to_string(count).size(); }
  void add(std::string_view part) { position_ = std::copy(part.begin(), part.end(), position_); }
  void add(const LineEnd& end) { position_ = end.put(position_); }
  void add(char c) { *position_++ = c; }

 private:
  std::string& text_;
  char* position_ = nullptr;
};

}  // namespace spdnn
