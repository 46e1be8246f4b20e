#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "report/render/text_forms.hpp"

namespace spdnn {

namespace {

/// Plain LaTeX accepts only ASCII; other characters are shown as question marks.
std::string character(char c) {
  constexpr std::string_view kPlainAfterBackslash = "{}$&#_%";
  // After the end of a line a bracket would begin an option.
  constexpr std::string_view kNamed = "\\~^<>|\"-`[]";
  constexpr std::array<const char*, kNamed.size()> kNames{"\\textbackslash{}",
                                                          "\\textasciitilde{}",
                                                          "\\textasciicircum{}",
                                                          "\\textless{}",
                                                          "\\textgreater{}",
                                                          "\\textbar{}",
                                                          "''",
                                                          "-{}",
                                                          "`{}",
                                                          "{[}",
                                                          "{]}"};
  if (const std::size_t named = kNamed.find(c); named != std::string_view::npos) return kNames[named];
  if (kPlainAfterBackslash.find(c) != std::string_view::npos) return std::string("\\") + c;
  const auto byte = static_cast<unsigned char>(c);
  if (byte >= 0x80 && byte < 0xC0) return "";  // UTF-8 continuation byte
  return byte >= 0x80 || byte < 32 ? "?" : std::string(1, c);
}

std::string latex_escaped(std::string_view text) {
  std::string result;
  for (const char c : text) result += character(c);
  return result;
}

/// Marks up a paragraph: code between backticks.
std::string latex_marked_up(std::string_view text) {
  std::string result;
  bool open = false;
  for (const char c : text) {
    if (c == '`') {
      result += open ? "}" : "\\texttt{";
      open = !open;
    } else {
      result += character(c);
    }
  }
  return open ? result + "}" : result;
}

std::string column_heading(const Column& column) {
  return latex_escaped(column.unit.empty() ? column.title : fmt::format("{} ({})", column.title, column.unit));
}

std::string cell_text(const Cell& cell) { return cell.text.empty() ? "-" : latex_escaped(cell.text); }

/// The columns whose rows are not all equal.
std::vector<std::size_t> varying(const Table& table) {
  std::vector<std::size_t> columns;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const bool same = table.rows.size() > 1 && std::all_of(table.rows.begin(), table.rows.end(), [&](const Row& row) {
                        return row.cells[i].text == table.rows.front().cells[i].text;
                      });
    if (!same || i == 0) columns.push_back(i);
  }
  return columns;
}

std::string caption_of(const Table& table, const std::vector<std::size_t>& columns) {
  std::string same;
  for (std::size_t i = 0; i < table.columns.size(); ++i)
    if (std::find(columns.begin(), columns.end(), i) == columns.end())
      same += fmt::format("{}{} {}", same.empty() ? "" : ", ", column_heading(table.columns[i]),
                          cell_text(table.rows[0].cells[i]));
  return latex_marked_up(table.caption) + (same.empty() ? "" : " In all rows: " + same + ".");
}

/// Formats rows `first` to `last`, at most as wide as the page.
std::string cut_out(const Table& table, const std::vector<std::size_t>& columns, std::size_t first, std::size_t last) {
  std::string form;
  std::string head;
  for (const std::size_t i : columns) {
    form += table.columns[i].number ? 'r' : 'l';
    head += (head.empty() ? "" : " & ") + column_heading(table.columns[i]);
  }
  std::string text = fmt::format("\\fitted{{\\begin{{tabular}}{{{}}}\n\\hline\n{} \\\\\n\\hline\n", form, head);
  for (std::size_t k = first; k < last; ++k) {
    for (const std::size_t i : columns) text += (i == columns.front() ? "" : " & ") + cell_text(table.rows[k].cells[i]);
    text += " \\\\\n";
  }
  return text + "\\hline\n\\end{tabular}}\n";
}

std::string to_latex(const Table& table) {
  constexpr std::size_t kRowsOfAPage = 34;
  const std::vector<std::size_t> columns = varying(table);
  std::string text;
  std::size_t first = 0;
  do {
    const std::size_t last = std::min(first + kRowsOfAPage, table.rows.size());
    text += fmt::format(
        "\n\\noindent\\begin{{minipage}}{{\\linewidth}}\n{}{}\\par\\smallskip\n{}\\end{{minipage}}\\par\\bigskip\n",
        caption_of(table, columns), first > 0 ? " (continued)" : "", cut_out(table, columns, first, last));
    first = last;
  } while (first < table.rows.size());
  return text;
}

constexpr const char* kPreamble = R"(\documentclass[10pt]{article}
\usepackage[a4paper,landscape,margin=12mm]{geometry}
\usepackage{graphicx}
% A table, scaled down to the page width if it is wider.
\newsavebox{\tablebox}
\newcommand{\fitted}[1]{\sbox{\tablebox}{#1}%
  \ifdim\wd\tablebox>\linewidth\resizebox{\linewidth}{!}{\usebox{\tablebox}}\else\usebox{\tablebox}\fi}
\begin{document}
)";

}  // namespace

std::string to_latex(const Document& document) {
  std::string text = kPreamble;
  text += fmt::format("\\section*{{{}}}\n{}\n", latex_escaped(document.title), latex_marked_up(document.summary));
  for (const Section& section : document.sections) {
    text += fmt::format("\n\\subsection*{{{}}}\n", latex_escaped(section.title));
    for (const auto& block : section.blocks) {
      if (const auto* paragraph = std::get_if<Paragraph>(&block)) text += latex_marked_up(paragraph->text) + "\n\n";
      if (const auto* table = std::get_if<Table>(&block)) text += to_latex(*table);
    }
  }
  return text + "\\end{document}\n";
}

}  // namespace spdnn
