#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/text/json_text.hpp"
#include "spdnn/report.hpp"

namespace spdnn {

/// One JSON line with its location, for error messages.
class JsonFields {
 public:
  /// DataError if `text` is not a JSON object, or is nested too deeply. `place` is `file:line`; `text` must outlive
  /// this object.
  JsonFields(std::string place, std::string_view text);

  using Path = std::initializer_list<const char*>;
  /// Null if the field is missing.
  const Json* find(Path path) const;
  /// DataError if the field is missing.
  const Json& at(Path path) const;

  /// The fields of an object of the line, whose errors name it. DataError if it is no object.
  JsonFields part(const char* name) const;

  /// Returns the text with control characters replaced by spaces.
  std::string text(Path path) const;
  /// Empty if the field is missing or null.
  std::string optional_text(Path path) const;
  std::vector<std::string> texts(Path path) const;
  bool truth(Path path) const;
  double number(Path path) const;  ///< 0, or from 1e-60 to 1e60, so that results computed from it are finite
  std::optional<double> optional_number(Path path) const;
  std::uint64_t count(Path path) const;
  std::uint64_t count_or(Path path, std::uint64_t otherwise) const;
  int positive(Path path) const;  ///< a whole number from 1 that fits into an int
  int positive_or(Path path, int otherwise) const;
  /// {"min", "median", "max"} at the path.
  Spread spread(Path path) const;
  std::optional<Spread> optional_spread(Path path) const;

  /// Throws a DataError that points to the field.
  [[noreturn]] void fail(Path path, const std::string& problem) const;

  static std::string printable(std::string text);
  /// Whether a value is a number that number() accepts.
  static bool is_amount(const Json& value);

 private:
  std::size_t column_of(Path path) const;
  std::string name_of(Path path) const;

  std::string place_;
  std::string_view text_;
  Json json_;
  std::string part_{};     ///< names before each path, of a part of a line; each ends in a dot
  std::size_t begin_ = 0;  ///< where the part's name stands in the text
};

}  // namespace spdnn
