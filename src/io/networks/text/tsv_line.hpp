#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "io/networks/text/source.hpp"
#include "spdnn/error.hpp"
#include "spdnn/types.hpp"

namespace spdnn {

/// Whether the character separates fields.
inline bool is_separator(char c) { return c == '\t' || c == ' '; }

/// A problem in a line, with its character position (1-based). Thrown by parsers of single lines; callers that know the
/// file and the line turn it into a DataError.
struct LineProblem {
  std::size_t column;
  std::string message;
};

/// The fields of one line, separated by any number of tabs or spaces, which may also precede the first and follow the
/// last.
class LineFields {
 public:
  /// `line` comes without its LF; a CR at its end is removed. `expected` lists the columns for messages. LineProblem if
  /// the line with its LF is longer than kLongestLine.
  LineFields(std::string_view line, std::string_view expected);

  /// Whether no field is left.
  bool at_end() const { return position_ == line_.size(); }
  /// The next field; LineProblem at the end of the line.
  std::string_view next();
  /// LineProblem if another field follows.
  void finish() const;
  std::size_t column(std::string_view field) const { return static_cast<std::size_t>(field.data() - line_.data()) + 1; }

  /// The next field as an id in 1..limit, returned 0-based. `what` names it; `reason` explains the limit.
  Index next_id(std::string_view what, Index limit, std::string_view reason = {});
  /// The next field as a number in 0..limit.
  std::uint64_t next_count(std::string_view what, std::uint64_t limit);
  /// The next field as a finite number, rounded once to T (float or double). Underflow gives the nearest T, which may
  /// be 0; overflow is a LineProblem.
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

/// Converts the problem to an error that names the file and the line (1-based).
DataError located(const std::string& name, std::size_t line, const LineProblem& problem);

/// Calls `parse` with each remaining line, without its LF, and its number; `lines_before` were read earlier. A
/// LineProblem from it becomes a DataError.
void for_each_line(TextSource& source, std::size_t lines_before,
                   const std::function<void(std::string_view line, std::size_t number)>& parse);

/// A field formatted for messages: quoted, on one line and shortened.
std::string quoted(std::string_view field);

}  // namespace spdnn
