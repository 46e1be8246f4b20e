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

#include "io/atomic_file.hpp"
#include "spdnn/csr_matrix.hpp"

namespace spdnn {

/// Writes a text file in pieces that are formatted in parallel, compressed each as a gzip member where the name ends in
/// .gz, and put down in order. A text of no bytes becomes one blank line: a file of no bytes looks like a failed
/// copy. `format` fills the string of a piece, which may hold an earlier one's text. The caller commits.
void write_in_pieces(AtomicFile& file, std::size_t pieces,
                     const std::function<void(std::size_t piece, std::string& text)>& format);
/// The same with an AtomicFile of its own, which is committed.
void write_in_pieces(const std::filesystem::path& path, std::size_t pieces,
                     const std::function<void(std::size_t piece, std::string& text)>& format);

/// Cuts a matrix into ranges of rows with about equal entries: range i is rows cuts[i] .. cuts[i+1]-1.
std::vector<Index> cut_rows(const CsrMatrix& matrix);

/// A weight as the official files have it, `6.250000e-02`, where these digits are enough to give the same fp32 back;
/// else the shortest text that does.
std::string weight_text(float value);
/// The shortest text that gives the same value back.
std::string value_text(float value);
std::string value_text(double value);

/// What many lines in a row end with: copied with a fixed number of bytes, which is cheaper than with the right one.
class LineEnd {
 public:
  static constexpr std::size_t kMost = 32;
  explicit LineEnd(std::string_view text) : size_(text.copy(bytes_.data(), kMost)) {}

  /// Writes kMost bytes to `position`; returns where the text among them ends.
  char* put(char* position) const {
    std::copy(bytes_.begin(), bytes_.end(), position);
    return position + size_;
  }

 private:
  std::array<char, kMost> bytes_{};
  std::size_t size_;
};

/// Text of known upper length, filled from its beginning; cut to what was filled when it goes.
class TextFiller {
 public:
  TextFiller(std::string& text, std::size_t most) : text_(text) {
    text_.resize(most + LineEnd::kMost);
    position_ = text_.data();
  }
  TextFiller(const TextFiller&) = delete;
  TextFiller& operator=(const TextFiller&) = delete;
  ~TextFiller() { text_.resize(static_cast<std::size_t>(position_ - text_.data())); }

  /// The 0-based id as files have it.
  void add_id(Index id) {
    constexpr std::size_t kMostDigits = 10;
    position_ = std::to_chars(position_, position_ + kMostDigits, id + 1).ptr;
  }
  /// Characters of the longest id among `count`.
  static std::size_t most_digits(Index count) { return std::to_string(count).size(); }
  void add(std::string_view part) { position_ = std::copy(part.begin(), part.end(), position_); }
  void add(const LineEnd& end) { position_ = end.put(position_); }
  void add(char c) { *position_++ = c; }

 private:
  std::string& text_;
  char* position_ = nullptr;
};

}  // namespace spdnn
