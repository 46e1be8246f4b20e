#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace spdnn {

struct CsvField {
  std::string text;
  std::size_t line = 1, column = 1;  ///< where it begins
};
using CsvRecord = std::vector<CsvField>;

/// The records of a CSV file (RFC 4180; a lone line feed ends a record, too). DataError (`name:line:column: ...`) where
/// a quotation does not end, or goes on after its end, or where a byte is 0.
std::vector<CsvRecord> read_csv(const std::string& name, std::string_view text);

}  // namespace spdnn
