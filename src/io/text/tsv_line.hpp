#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "io/text/source.hpp"
#include "spdnn/error.hpp"
#include "spdnn/types.hpp"

namespace spdnn {

/// Whether the character separates fields.
inline bool is_separator(char c) { return c == '\t' || c == ' '; }

/// What is wrong with a line, and at which of its characters (1-based). The parsers of single lines throw it; callers
/// that know the file and the line turn it into a DataError.
struct LineProblem {
  std::size_t column;
  std::string message;
};

/// The fields of one line. They are separated by any number of tabs or spaces, which may also precede the first and
/// follow the last.
class LineFields {
 public:
  /// `line` comes without its LF; a CR at its end does not belong to it. `expected` names the columns for messages.
  /// LineProblem where the line with its LF is longer than kLongestLine.
  LineFields(std::string_view line, std::string_view expected);

  /// Whether no field is left.
  bool at_end() const { return position_ == line_.size(); }
  /// The next field; LineProblem at the end of the line.
  std::string_view next();
  /// LineProblem where another field follows.
  void finish() const;
  std::size_t column(std::string_view field) const { return static_cast<std::size_t>(field.data() - line_.data()) + 1; }

  /// The next field as an id in 1..limit, returned 0-based. `what` names it; `reason` says where the limit comes from.
  Index next_id(std::string_view what, Index limit, std::string_view reason = {});
  /// The next field as a number in 0..limit.
  std::uint64_t next_count(std::string_view what, std::uint64_t limit);
  /// The next field as a finite number, rounded once to T (float or double). A number that is too small for T becomes
  /// the nearest T, which may be 0; one that is too large is a LineProblem.
  template <class T>
  T next_real(std::string_view what);

 private:
  void skip_separators();
  std::uint64_t next_whole(std::string_view what, std::uint64_t least, std::uint64_t most, std::string_view reason);

  std::string_view line_;
  std::string_view expected_;
  std::size_t position_ = 0;
  std::size_t fields_ = 0;
};

/// The problem as an error that names the file and the line (1-based).
DataError located(const std::string& name, std::size_t line, const LineProblem& problem);

/// Calls `parse` with each remaining line, without its LF, and the number of the line; `lines_before` were read
/// earlier. A LineProblem that it throws becomes a DataError.
void for_each_line(TextSource& source, std::size_t lines_before,
                   const std::function<void(std::string_view line, std::size_t number)>& parse);

/// A field as messages show it: quoted, on one line and not too long.
std::string quoted(std::string_view field);

}  // namespace spdnn
