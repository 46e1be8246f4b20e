#include "report/render/html/html.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "core/system/build_info.hpp"
#include "core/text/json_text.hpp"
#include "report/render/html/assets.hpp"
#include "report/significant.hpp"

namespace spdnn {

namespace {

/// Escapes text, also for attribute values in double quotes. Bytes below 32 are not characters of HTML.
std::string html_text(std::string_view text) {
  constexpr std::string_view kSpecial = "&<>\"'";
  constexpr std::array<std::string_view, kSpecial.size()> kEntities{"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
  std::string result;
  for (const char c : text) {
    const std::size_t special = kSpecial.find(c);
    if (special != std::string_view::npos)
      result += kEntities[special];
    else
      result += static_cast<unsigned char>(c) < 32 ? ' ' : c;
  }
  return result;
}

/// Marks up a paragraph: `code` between backticks.
std::string marked_up(std::string_view text) {
  std::string result = html_text(text);
  bool open = false;
  for (std::size_t at = 0; (at = result.find('`', at)) != std::string::npos;) {
    const std::string_view tag = open ? "</code>" : "<code>";
    result.replace(at, 1, tag);
    at += tag.size();
    open = !open;
  }
  return open ? result + "</code>" : result;
}

/// Escapes a cell: lists and long names may be broken if the paper is narrow.
std::string breakable(std::string_view text) {
  const std::string whole = html_text(text);
  std::string result;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    result += whole[i];
    if (whole[i] == '_' || (whole[i] == ',' && i + 1 < whole.size() && whole[i + 1] != ' ')) result += "<wbr>";
  }
  return result;
}

std::string paragraph(std::string_view text) { return fmt::format("<p>{}</p>\n", marked_up(text)); }

void add_head(const Column& column, std::string& html) {
  const std::string unit =
      column.unit.empty() ? "" : fmt::format(" <span class=\"unit\">({})</span>", html_text(column.unit));
  const std::string tip = column.definition.empty() ? "" : fmt::format(" title=\"{}\"", html_text(column.definition));
  html += fmt::format("<th scope=\"col\" aria-sort=\"none\"{}><button type=\"button\"{}>{}{}</button></th>",
                      column.number ? " class=\"number\"" : "", tip, html_text(column.title), unit);
}

/// Digits after the decimal point; empty if the text is not a decimal number.
std::optional<std::size_t> decimals_of(const std::string& text) {
  const std::size_t first = text.starts_with('-') ? 1 : 0;
  if (first == text.size() || text.find_first_not_of("0123456789.", first) != std::string::npos) return std::nullopt;
  const std::size_t point = text.find('.');
  return point == std::string::npos ? 0 : text.size() - point - 1;
}

/// The maximum number of decimals of each numeric column.
std::vector<std::size_t> decimals_of(const Table& table) {
  std::vector<std::size_t> most(table.columns.size(), 0);
  for (const Row& row : table.rows)
    for (std::size_t i = 0; i < most.size() && i < row.cells.size(); ++i)
      if (table.columns[i].number) most[i] = std::max(most[i], decimals_of(row.cells[i].text).value_or(0));
  return most;
}

/// Aligns numbers at the decimal point: padding replaces missing decimals and, in a whole number, the point.
void add_cell(const Column& column, const Cell& cell, std::size_t decimals, std::string& html) {
  html += column.number ? "<td class=\"number\"" : "<td";
  if (const std::optional<std::size_t> own = decimals_of(cell.text); column.number && own && *own < decimals)
    html += fmt::format(" style=\"--free:{}\"",
                        *own == 0 ? fmt::format("{}.4", decimals) : std::to_string(decimals - *own));
  if (cell.value && std::isfinite(*cell.value)) html += fmt::format(" data-value=\"{}\"", *cell.value);
  html += fmt::format(">{}</td>", cell.text.empty() ? "-" : breakable(cell.text));
}

std::string to_html(const Table& table) {
  std::string html = fmt::format(
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-labelledby=\"{0}-caption\">\n"
      "<table id=\"{0}\"><caption><span id=\"{0}-caption\">{1}</span></caption>\n<thead><tr>",
      html_text(table.id), marked_up(table.caption));
  for (const Column& column : table.columns) add_head(column, html);
  html += "</tr></thead>\n<tbody>\n";
  const std::vector<std::size_t> decimals = decimals_of(table);
  for (const Row& row : table.rows) {
    html += row.apart ? "<tr class=\"apart\">" : "<tr>";
    for (std::size_t i = 0; i < table.columns.size() && i < row.cells.size(); ++i)
      add_cell(table.columns[i], row.cells[i], decimals[i], html);
    html += "</tr>\n";
  }
  return html + "</tbody></table>\n</div>\n";
}

bool has_bars(const Chart& chart) { return chart.kind == Chart::Kind::bars || chart.kind == Chart::Kind::stacked_bars; }

/// A number of a chart, which has no format of its own: whole numbers without decimals.
Cell number_cell(double value) {
  return {value == std::floor(value) ? fmt::format("{:.0f}", value) : significant(value), value};
}

/// Bars: one row per category, one column per series.
Table table_of_bars(const Chart& chart) {
  Table table{chart.id + "-numbers", chart.title, {{""}}, {}};
  for (const std::string& category : chart.categories) table.rows.push_back({{category}});
  for (const Series& series : chart.series) {
    table.columns.push_back({series.name, {}, true});
    for (Row& row : table.rows) row.cells.emplace_back();
    for (const Point& point : series.points)
      table.rows.at(static_cast<std::size_t>(point.x)).cells.back() = number_cell(point.y);
  }
  return table;
}

/// Lines: one row per point.
Table table_of_points(const Chart& chart) {
  Table table{
      chart.id + "-numbers", chart.title, {{"series"}, {chart.x.title, {}, true}, {chart.y.title, {}, true}}, {}};
  for (const Series& series : chart.series)
    for (const Point& point : series.points)
      table.rows.push_back({{point.label.empty() ? series.name : series.name + ", " + point.label, number_cell(point.x),
                             number_cell(point.y)}});
  return table;
}

/// Spy: at most eight rows and columns, each of whole cells of the picture, so that it stays readable.
Table table_of_cells(const Chart& chart) {
  constexpr std::uint64_t kMost = 8;
  const Grid& grid = chart.grid;
  const std::uint64_t rows = std::min(kMost, grid.rows);
  const std::uint64_t columns = std::min(kMost, grid.columns);
  std::vector<std::uint64_t> sums(rows * columns);
  for (std::uint64_t i = 0; i < grid.rows; ++i)
    for (std::uint64_t j = 0; j < grid.columns; ++j)
      sums[(i * rows / grid.rows) * columns + j * columns / grid.columns] += grid.counts[i * grid.columns + j];
  const auto range = [](std::uint64_t cell, std::uint64_t cells, std::uint64_t fine, std::uint64_t length) {
    const std::uint64_t first = Grid::first_in(Grid::first_in(cell, cells, fine), fine, length) + 1;
    const std::uint64_t last = Grid::first_in(Grid::first_in(cell + 1, cells, fine), fine, length);
    return first == last ? std::to_string(first) : fmt::format("{} to {}", first, last);
  };
  Table table{chart.id + "-numbers", chart.title, {{chart.y.title}}, {}};
  for (std::uint64_t j = 0; j < columns; ++j)
    table.columns.push_back({chart.x.title + " " + range(j, columns, grid.columns, grid.width), {}, true});
  for (std::uint64_t i = 0; i < rows; ++i) {
    Row row{{range(i, rows, grid.rows, grid.height)}};
    for (std::uint64_t j = 0; j < columns; ++j) {
      const std::uint64_t sum = sums[i * columns + j];
      row.cells.emplace_back(std::to_string(sum), static_cast<double>(sum));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table chart_numbers(const Chart& chart) {
  if (chart.kind == Chart::Kind::spy) return table_of_cells(chart);
  return has_bars(chart) ? table_of_bars(chart) : table_of_points(chart);
}

/// The maximum number of bars of a category, at least 2: missing bars take no space.
std::size_t bars_of_a_category(const Chart& chart) {
  std::size_t most = 2;
  std::vector<std::size_t> bars(chart.categories.size(), 0);
  for (const Series& series : chart.series)
    for (const Point& point : series.points) most = std::max(most, ++bars.at(static_cast<std::size_t>(point.x)));
  return most;
}

std::size_t height_of(const Chart& chart) {
  const std::size_t bars = chart.kind == Chart::Kind::bars ? bars_of_a_category(chart) : 2;
  return has_bars(chart) ? 120 + chart.categories.size() * (14 * bars + 12) : 420;
}

/// The attribute with the size of the canvas. A spy plot has the shape of its matrix, within limits.
std::string size_of(const Chart& chart) {
  if (chart.kind != Chart::Kind::spy) return fmt::format("style=\"height:{}px\"", height_of(chart));
  const double shape =
      std::clamp(static_cast<double>(chart.grid.height) / static_cast<double>(chart.grid.width), 0.4, 2.0);
  return fmt::format("data-shape=\"{:.3f}\"", shape);
}

std::string to_html(const Chart& chart) {
  return fmt::format(
      "<figure id=\"{0}\"><figcaption><strong>{1}</strong> {2}</figcaption>\n"
      "<div class=\"canvas\" {3}><canvas data-chart=\"{0}\" role=\"img\" aria-label=\"{4}. "
      "{5}\"></canvas></div>\n<details><summary>Numbers of this chart</summary>\n{6}</details></figure>\n",
      html_text(chart.id), html_text(chart.title), marked_up(chart.description), size_of(chart), html_text(chart.title),
      html_text(chart.description), to_html(chart_numbers(chart)));
}

Json chart_json(const Axis& axis) {
  return {{"title", axis.title}, {"logarithmic", axis.logarithmic}, {"end", json_or_null(axis.end)}};
}

Json chart_json(const Chart& chart) {
  constexpr const char* kKinds[] = {"bars", "stacked", "lines", "spy"};
  Json json = {{"kind", kKinds[static_cast<int>(chart.kind)]},
               {"x", chart_json(chart.x)},
               {"y", chart_json(chart.y)},
               {"categories", chart.categories},
               {"series", Json::array()}};
  for (const Series& series : chart.series) {
    Json points = Json::array();
    for (const Point& point : series.points) points.push_back(Json::array({point.x, point.y, point.label}));
    json["series"].push_back(
        {{"name", series.name}, {"line", series.line}, {"marks", series.marks}, {"points", std::move(points)}});
  }
  if (chart.kind == Chart::Kind::spy)
    json["grid"] = {{"height", chart.grid.height},   {"width", chart.grid.width},   {"rows", chart.grid.rows},
                    {"columns", chart.grid.columns}, {"counts", chart.grid.counts}, {"entry", chart.grid.entry}};
  return json;
}

std::string to_html(const Section& section) {
  std::string html = fmt::format("<section aria-labelledby=\"{0}\">\n<h2 id=\"{0}\">{1}</h2>\n", html_text(section.id),
                                 html_text(section.title));
  for (const auto& block : section.blocks) {
    if (const auto* text = std::get_if<Paragraph>(&block)) html += paragraph(text->text);
    if (const auto* table = std::get_if<Table>(&block)) html += to_html(*table);
    if (const auto* chart = std::get_if<Chart>(&block)) html += to_html(*chart);
  }
  return html + "</section>\n";
}

/// Formats data for a script element: `<` could end it.
std::string chart_data(const Document& document) {
  Json charts = Json::object();
  for (const Section& section : document.sections)
    for (const auto& block : section.blocks)
      if (const auto* chart = std::get_if<Chart>(&block)) charts[chart->id] = chart_json(*chart);
  const std::string text = ascii_json(charts);
  std::string safe;
  for (const char c : text) safe += c == '<' ? std::string("\\u003c") : std::string(1, c);
  return safe;
}

std::string head(const Document& document) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
      "script-src 'unsafe-inline'; img-src data:\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n"
      "<title>{}</title>\n<style>\n{}</style>\n</head>\n",
      html_text(document.title), html::page_style());
}

std::string contents(const Document& document) {
  std::string html = "<nav aria-label=\"Contents\"><ul>\n";
  for (const Section& section : document.sections)
    html += fmt::format("<li><a href=\"#{}\">{}</a></li>\n", html_text(section.id), html_text(section.title));
  return html + "</ul></nav>\n";
}

}  // namespace

std::string to_html(const Document& document) {
  std::string html = head(document);
  html += fmt::format(
      "<body>\n<a class=\"skip\" href=\"#main\">Skip to the results</a>\n<header>\n"
      "<button type=\"button\" id=\"theme\" hidden>Dark</button>\n<h1>{}</h1>\n{}</header>\n{}<main id=\"main\">\n",
      html_text(document.title), paragraph(document.summary), contents(document));
  for (const Section& section : document.sections) html += to_html(section);
  html += fmt::format(
      "</main>\n<footer><p>Made by spdnn {}. This page is self-contained and makes no network requests.</p>\n"
      "<details><summary>Licence of the chart library</summary><pre>{}</pre></details></footer>\n",
      html_text(build_info().version), html_text(html::chart_licence()));
  html += fmt::format("<script type=\"application/json\" id=\"charts\">{}</script>\n", chart_data(document));
  html += fmt::format("<script id=\"library\">\n{}\n</script>\n<script>\n{}{}</script>\n</body>\n</html>\n",
                      html::chart_script(), html::table_script(), html::page_script());
  return html;
}

}  // namespace spdnn
