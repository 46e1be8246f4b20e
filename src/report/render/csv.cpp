#include "core/text/csv.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cctype>
#include <string>
#include <string_view>
#include <vector>

#include "report/render/text_forms.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

namespace {

/// A name that programs accept without quotes: no blanks, brackets or signs with a special meaning.
std::string column_name(const Column& column) {
  constexpr std::string_view kKept = ".-+=@";  // kept as in numbers, and signs that csv_field() handles
  const std::string text = column.unit.empty() ? column.title : column.title + " " + column.unit;
  std::string name;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const std::string_view piece = c == '%' ? "percent" : c == '/' ? "_per_" : std::string_view(&c, 1);
    if (piece.size() > 1 || std::isalnum(byte) != 0 || byte >= 0x80 || kKept.find(c) != std::string_view::npos)
      name += piece.starts_with('_') && name.ends_with('_') ? piece.substr(1) : piece;
    else if (!name.empty() && !name.ends_with('_'))
      name += '_';
  }
  while (name.ends_with('_')) name.pop_back();
  return name;
}

template <typename Items, typename Text>
std::string record(const Items& items, Text text) {
  std::string line;
  for (const auto& item : items) line += (&item == &items.front() ? "" : ",") + csv_field(text(item));
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
      if (table->id != id && table->id != id + "-table" && section.id != id) continue;
      std::string csv = record(table->columns, column_name);
      for (const Row& row : table->rows) csv += record(row.cells, [](const Cell& cell) { return cell.text; });
      return csv;
    }
  throw UsageError(fmt::format("--table: there is no table '{}'; expected {}", id, fmt::join(ids, ", ")));
}

}  // namespace spdnn
