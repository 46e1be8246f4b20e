#pragma once

#include <string>

namespace spdnn {

/// A field of a CSV file (RFC 4180), quoted where it has to be. Text that a spreadsheet would take for a formula, and
/// run, gets a quotation mark in front.
std::string csv_field(const std::string& text);

}  // namespace spdnn
