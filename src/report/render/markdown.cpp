#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "report/render/text_forms.hpp"

namespace spdnn {

namespace {

/// What Markdown or HTML would take for more than a character.
std::string escaped(std::string_view text, std::string_view specials) {
  std::string result;
  for (const char c : text) {
    if (c == '<')
      result += "&lt;";
    else if (c == '&')
      result += "&amp;";
    else if (specials.find(c) != std::string_view::npos)
      result += std::string("\\") + c;
    else
      result += c;
  }
  return result;
}

std::string cell_text(const std::string& text) { return text.empty() ? "-" : escaped(text, "\\|*`["); }

/// Characters, not bytes.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string padded(const std::string& text, std::size_t width, bool right) {
  const std::string space(width - width_of(text), ' ');
  return right ? space + text : text + space;
}

std::string heading(const Column& column) {
  return cell_text(column.unit.empty() ? column.title : fmt::format("{} ({})", column.title, column.unit));
}

std::string to_markdown(const Table& table) {
  std::vector<std::vector<std::string>> lines(1);
  std::vector<std::size_t> widths;
  widths.reserve(table.columns.size());
  lines[0].reserve(table.columns.size());
  for (const Column& column : table.columns) {
    lines[0].push_back(heading(column));
    widths.push_back(std::max<std::size_t>(3, width_of(lines[0].back())));
  }
  for (const Row& row : table.rows) {
    lines.emplace_back().reserve(widths.size());
    for (std::size_t i = 0; i < widths.size() && i < row.cells.size(); ++i) {
      lines.back().push_back(cell_text(row.cells[i].text));
      widths[i] = std::max(widths[i], width_of(lines.back().back()));
    }
  }
  std::string text;
  for (std::size_t k = 0; k < lines.size(); ++k) {
    for (std::size_t i = 0; i < lines[k].size(); ++i)
      text += "| " + padded(lines[k][i], widths[i], table.columns[i].number) + " ";
    text += "|\n";
    if (k > 0) continue;
    for (std::size_t i = 0; i < widths.size(); ++i)
      text += table.columns[i].number ? fmt::format("| {:->{}}: ", "", widths[i] - 1)
                                      : fmt::format("| {:->{}} ", "", widths[i]);
    text += "|\n";
  }
  return text;
}

/// In lines of at most 120 characters, broken at spaces.
std::string wrapped(std::string_view text) {
  constexpr std::size_t kWidth = 120;
  std::string result;
  std::size_t column = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (column > 0 && column + 1 + end > kWidth) {
      result += '\n';
      column = 0;
    }
    result += column > 0 ? " " : "";
    column += (column > 0 ? 1 : 0) + end;
    result += text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result + "\n";
}

}  // namespace

std::string to_markdown(const Document& document) {
  std::string text =
      fmt::format("# {}\n\n{}", escaped(document.title, "\\*`["), wrapped(escaped(document.summary, "")));
  for (const Section& section : document.sections) {
    text += fmt::format("\n## {}\n", escaped(section.title, "\\*`["));
    for (const auto& block : section.blocks) {
      if (const auto* paragraph = std::get_if<Paragraph>(&block)) text += "\n" + wrapped(escaped(paragraph->text, ""));
      if (const auto* table = std::get_if<Table>(&block))
        text += fmt::format("\n{}\n{}", wrapped(escaped(table->caption, "")), to_markdown(*table));
    }
  }
  return text;
}

}  // namespace spdnn
