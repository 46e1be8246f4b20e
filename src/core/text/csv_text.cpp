#include "core/text/csv_text.hpp"

#include <charconv>
#include <string_view>
#include <system_error>

namespace spdnn {

namespace {

bool is_number(const std::string& text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end;
}

/// Spreadsheets interpret text with this beginning as a formula, and run it.
bool is_formula(const std::string& text) {
  const std::size_t first = text.find_first_not_of(' ');
  return first != std::string::npos && std::string_view("=+-@\t\r\n").find(text[first]) != std::string_view::npos &&
         !is_number(text);
}

}  // namespace

std::string csv_field(const std::string& text) {
  const bool formula = is_formula(text);
  if (!formula && text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string result = formula ? "\"'" : "\"";
  for (const char c : text) result += c == '"' ? std::string("\"\"") : std::string(1, c);
  return result + "\"";
}

}  // namespace spdnn
