#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "report/render/text_forms.hpp"

namespace spdnn {

namespace {

constexpr std::string_view kSpecials = "\\*`[";  // and in tables `|`

/// Escapes characters with a meaning in Markdown or HTML.
std::string markdown_escaped(std::string_view text, std::string_view specials) {
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

std::string markdown_cell(const std::string& text) { return text.empty() ? "-" : markdown_escaped(text, "\\|*`["); }

/// Marks up a paragraph: code between backticks. Only pairs with text in between count, so that code ends at the same
/// place as in the other formats, whatever the text.
std::string paragraph_text(std::string_view text) {
  std::string result;
  std::string code;
  bool open = false;
  const auto add_code = [&] {
    if (!code.empty()) result += "`" + code + "`";
    code.clear();
  };
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('`'), text.size());
    const std::string_view part = text.substr(0, end);
    if (open) {
      code += part;
    } else if (!part.empty()) {
      add_code();
      result += markdown_escaped(part, kSpecials);
    }
    open = !open;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  add_code();
  return result;
}

/// Counts characters instead of bytes.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string padded(const std::string& text, std::size_t width, bool right) {
  const std::string space(width - width_of(text), ' ');
  return right ? space + text : text + space;
}

std::string heading(const Column& column) {
  return markdown_cell(column.unit.empty() ? column.title : fmt::format("{} ({})", column.title, column.unit));
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
      lines.back().push_back(markdown_cell(row.cells[i].text));
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

/// The end of a word: the next space outside of code, which must not be broken.
std::size_t end_of_word(std::string_view text) {
  bool code = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '`') code = !code;
    if (text[i] == ' ' && !code) return i;
  }
  return text.size();
}

/// Some words at the beginning of a line would start a heading, a list, a rule or a quotation.
bool begins_block(std::string_view word) {
  const bool one_sign = word.find_first_not_of(word.front()) == std::string_view::npos;
  const std::size_t digits = std::min(word.find_first_not_of("0123456789"), word.size());
  const bool item = digits > 0 && digits + 1 == word.size() && (word[digits] == '.' || word[digits] == ')');
  return word.front() == '>' || word.starts_with("~~~") || item ||
         (one_sign && std::string_view("#-+=_").find(word.front()) != std::string_view::npos);
}

/// Wraps marked-up text at spaces, in lines of at most 120 characters.
std::string wrapped(std::string_view text) {
  constexpr std::size_t kWidth = 120;
  std::string result;
  std::size_t column = 0;
  while (!text.empty()) {
    const std::size_t end = end_of_word(text);
    std::string word(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (column > 0 && column + 1 + word.size() > kWidth) {
      result += '\n';
      column = 0;
    }
    if (column == 0 && !word.empty() && begins_block(word))
      word.insert(std::min(word.find_first_not_of("0123456789"), word.size()), "\\");
    result += (column > 0 ? " " : "") + word;
    column += (column > 0 ? 1 : 0) + word.size();
  }
  return result + "\n";
}

}  // namespace

std::string to_markdown(const Document& document) {
  std::string text =
      fmt::format("# {}\n\n{}", markdown_escaped(document.title, kSpecials), wrapped(paragraph_text(document.summary)));
  for (const Section& section : document.sections) {
    text += fmt::format("\n## {}\n", markdown_escaped(section.title, kSpecials));
    for (const auto& block : section.blocks) {
      if (const auto* paragraph = std::get_if<Paragraph>(&block))
        text += "\n" + wrapped(paragraph_text(paragraph->text));
      if (const auto* table = std::get_if<Table>(&block))
        text += fmt::format("\n{}\n{}", wrapped(paragraph_text(table->caption)), to_markdown(*table));
    }
  }
  return text;
}

}  // namespace spdnn
