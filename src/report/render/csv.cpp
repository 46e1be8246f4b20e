#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <string_view>
#include <vector>

#include "report/render/text_forms.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

namespace {

bool is_number(const std::string& text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end;
}

/// Spreadsheets take text that begins so for a formula, and run it.
bool is_formula(const std::string& text) {
  const std::size_t first = text.find_first_not_of(' ');
  return first != std::string::npos && std::string_view("=+-@\t\r\n").find(text[first]) != std::string_view::npos &&
         !is_number(text);
}

std::string quoted(const std::string& text) {
  const bool formula = is_formula(text);
  if (!formula && text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string result = formula ? "\"'" : "\"";
  for (const char c : text) result += c == '"' ? std::string("\"\"") : std::string(1, c);
  return result + "\"";
}

template <typename Items, typename Text>
std::string record(const Items& items, Text text) {
  std::string line;
  for (const auto& item : items) line += (&item == &items.front() ? "" : ",") + quoted(text(item));
  return line + "\n";
}

}  // namespace

std::string to_csv(const Document& document, const std::string& id) {
  std::vector<std::string> ids;
  for (const Section& section : document.sections)
    for (const auto& block : section.blocks) {
      const Table* const table = std::get_if<Table>(&block);
      if (table == nullptr) continue;
      ids.push_back(table->id);
      if (table->id != id) continue;
      std::string csv = record(table->columns, [](const Column& column) {
        return column.unit.empty() ? column.title : fmt::format("{} [{}]", column.title, column.unit);
      });
      for (const Row& row : table->rows) csv += record(row.cells, [](const Cell& cell) { return cell.text; });
      return csv;
    }
  throw UsageError(fmt::format("--table: there is no table '{}', but {}", id, fmt::join(ids, ", ")));
}

}  // namespace spdnn
