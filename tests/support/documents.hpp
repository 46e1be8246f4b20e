#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <variant>

#include "report/document.hpp"

namespace spdnn::testing {

template <class Block>
const Block& block_of(const Document& document, const std::string& id) {
  for (const Section& section : document.sections)
    for (const auto& block : section.blocks)
      if (const auto* found = std::get_if<Block>(&block); found != nullptr && found->id == id) return *found;
  throw std::runtime_error("nothing is called " + id);
}

/// A chart in a few lines: kind, axes, categories, and each series with its points.
inline std::string text_of(const Chart& chart) {
  const auto axis = [](const Axis& of) {
    return fmt::format("{}{}{}", of.title, of.logarithmic ? " (log)" : "",
                       of.end ? fmt::format(" to {:.4g}", *of.end) : "");
  };
  const char* const kinds[] = {"bars", "stacked bars", "lines", "spy"};
  const std::string y = axis(chart.y);
  std::string text = fmt::format("{}: {} of {}{}{}\n", chart.id, kinds[static_cast<int>(chart.kind)], axis(chart.x),
                                 y.empty() ? "" : " by ", y);
  for (std::size_t i = 0; i < chart.categories.size(); ++i) text += fmt::format("  {} {}\n", i, chart.categories[i]);
  for (const Series& series : chart.series) {
    text += fmt::format("  {}{}{}:", series.name, series.line ? "" : ", no line", series.marks ? "" : ", no marks");
    for (const Point& point : series.points)
      text += fmt::format(" {:.4g} {:.4g}{}", point.x, point.y, point.label.empty() ? ";" : " " + point.label + ";");
    text += "\n";
  }
  return text;
}

/// All charts of a document.
inline std::string charts_of(const Document& document) {
  std::string text;
  for (const Section& section : document.sections)
    for (const auto& block : section.blocks)
      if (const auto* chart = std::get_if<Chart>(&block); chart != nullptr) text += text_of(*chart);
  return text;
}

/// What all charts of a document say besides their numbers.
inline std::string descriptions_of(const Document& document) {
  std::string text;
  for (const Section& section : document.sections)
    for (const auto& block : section.blocks)
      if (const auto* chart = std::get_if<Chart>(&block); chart != nullptr)
        text += fmt::format("{}: {}\n", chart->title, chart->description);
  return text;
}

/// The columns of all tables: title, unit, and # where it is aligned right; and how many rows they have.
inline std::string columns_of(const Document& document) {
  std::string text;
  for (const Section& section : document.sections)
    for (const auto& block : section.blocks)
      if (const auto* table = std::get_if<Table>(&block); table != nullptr) {
        text += fmt::format("{} of {}:", table->id, table->rows.size());
        for (const Column& column : table->columns)
          text += fmt::format(" {}{}{};", column.title, column.unit.empty() ? "" : ", " + column.unit,
                              column.number ? " #" : "");
        text += "\n";
      }
  return text;
}

}  // namespace spdnn::testing
