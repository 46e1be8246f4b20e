#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace spdnn {

/// A field of a CSV file (RFC 4180), quoted if necessary. Text that a spreadsheet would run as a formula is prefixed
/// with a quotation mark.
std::string csv_field(const std::string& text);

struct CsvField {
  std::string text;
  std::size_t line = 1, column = 1;  ///< where the field begins
};
using CsvRecord = std::vector<CsvField>;

/// The records of a CSV file (RFC 4180; a single line feed also ends a record). DataError (`name:line:column: ...`) if
/// a quotation is not closed, if text follows its end, or if a byte is 0.
std::vector<CsvRecord> read_csv(const std::string& name, std::string_view text);

}  // namespace spdnn
