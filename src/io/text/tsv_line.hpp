#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "io/text/source.hpp"
#include "spdnn/error.hpp"
#include "spdnn/types.hpp"

namespace spdnn {

/// What is wrong with a line, and in which character of it (1-based). Thrown by the parsers of single lines; those who
/// know file and line turn it into a DataError.
struct LineProblem {
  std::size_t column;
  std::string message;
};

/// The fields of one line: separated by tabs or spaces, any number of them, also before the first and after the last.
class LineFields {
 public:
  /// `line` without its LF; a CR at its end does not belong to it. `expected` names the columns for messages.
  /// LineProblem where the line is longer than kLongestLine with its LF.
  LineFields(std::string_view line, std::string_view expected);

  /// No field left.
  bool at_end() const { return position_ == line_.size(); }
  /// The next field; LineProblem at the end of the line.
  std::string_view next();
  /// LineProblem where another field follows.
  void finish() const;
  std::size_t column(std::string_view field) const { return static_cast<std::size_t>(field.data() - line_.data()) + 1; }

  /// The next field as an id in 1..limit, 0-based. `what` names it, `reason` says where the limit comes from.
  Index next_id(std::string_view what, Index limit, std::string_view reason = {});
  /// The next field as a number in 0..limit.
  std::uint64_t next_count(std::string_view what, std::uint64_t limit);
  /// The next field as a finite number, rounded once to T (float or double). What is too small for T becomes the
  /// nearest T, if need be 0; what is too large is a problem.
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

/// The problem as the error of a file's line (1-based).
DataError located(const std::string& name, std::size_t line, const LineProblem& problem);

/// Calls `parse` with each remaining line (without LF) and its number; `lines_before` were read earlier. A LineProblem
/// that it throws becomes a DataError.
void for_each_line(TextSource& source, std::size_t lines_before,
                   const std::function<void(std::string_view line, std::size_t number)>& parse);

/// A field as messages show it: quoted, on one line, not too long.
std::string quoted(std::string_view field);

}  // namespace spdnn
