#pragma once

#include <string>

namespace spdnn {

/// A field of a CSV file (RFC 4180), quoted if necessary. Text that a spreadsheet would run as a formula is prefixed
/// with a quotation mark.
std::string csv_field(const std::string& text);

}  // namespace spdnn
