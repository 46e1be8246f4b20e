#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace spdnn {

/// A report independent of its output format: sections of paragraphs, tables and charts. Every number is formatted
/// here, once, so that all formats (report/render/) show the same text. All text is plain, with any characters; only in
/// a Paragraph do `backticks` mark code.

struct Column {
  std::string title;
  std::string unit = {};        ///< shown with the title; empty: none
  bool number = false;          ///< aligned right
  std::string definition = {};  ///< one sentence for readers who do not know the column
};

struct Cell {
  std::string text;                  ///< empty: unknown
  std::optional<double> value = {};  ///< the unrounded value of the text; tables are sorted by it

  Cell(std::string words = {}) : text(std::move(words)) {}  // NOLINT(google-explicit-constructor): a row is a list
  Cell(const char* words) : text(words) {}                  // NOLINT(google-explicit-constructor)
  Cell(std::string words, double number) : text(std::move(words)), value(number) {}
};

struct Row {
  std::vector<Cell> cells;  ///< one for each column
  bool apart = false;       ///< marked as different in standing from the other results
};

struct Table {
  std::string id;       ///< unique in the document: lower case letters, digits, dashes
  std::string caption;  ///< a sentence
  std::vector<Column> columns;
  std::vector<Row> rows;
};

struct Axis {
  std::string title = {};  ///< with the unit
  bool logarithmic = false;
  std::optional<double> end = {};  ///< end of the axis; by default it follows from the values
};

struct Point {
  double x;                ///< for bars, the index of the category
  double y;                ///< above 0 on a logarithmic axis
  std::string label = {};  ///< the name of the point, if the series holds different things
};

struct Series {
  std::string name = {};
  std::vector<Point> points = {};
  bool line = true;   ///< joined by a line; in Chart::Kind::lines only
  bool marks = true;  ///< each point is marked; likewise
};

/// The positions of a matrix's entries, counted in cells: row i of the matrix belongs to row i * rows / height of the
/// cells, rounded down, and columns likewise.
struct Grid {
  std::string entry = "edge";  ///< the word for one entry; the plural takes an s
  std::uint64_t height = 0;    ///< rows of the matrix
  std::uint64_t width = 0;     ///< its columns
  std::uint64_t rows = 0;      ///< of cells, at most `height`
  std::uint64_t columns = 0;
  std::vector<std::uint64_t> counts = {};  ///< number of entries by cell, row-major

  /// The first row or column of the matrix in cell `cell` of `cells`, along a side of `length`.
  static std::uint64_t first_in(std::uint64_t cell, std::uint64_t cells, std::uint64_t length) {
    return (cell * length + cells - 1) / cells;
  }
};

/// A picture of numbers that are also in a table; formats without pictures omit it.
struct Chart {
  enum class Kind { bars, stacked_bars, lines, spy };
  std::string id = {};           ///< unique in the document, like those of tables
  std::string title = {};        ///< the subject
  std::string description = {};  ///< a description in a sentence or two for readers who cannot see the chart
  Kind kind = Kind::bars;
  Axis x = {};                               ///< for horizontal bars, the axis of values
  Axis y = {};                               ///< not used for bars; for spy, the axis of rows
  std::vector<std::string> categories = {};  ///< of bars, from top to bottom
  std::vector<Series> series = {};           ///< not used for spy
  Grid grid = {};                            ///< of spy
};

struct Paragraph {
  std::string text = {};
};

struct Section {
  std::string id = {};  ///< unique in the document, like those of tables
  std::string title = {};
  std::vector<std::variant<Paragraph, Table, Chart>> blocks = {};
};

struct Document {
  std::string title = {};
  std::string summary = {};  ///< a paragraph
  std::vector<Section> sections = {};
};

}  // namespace spdnn
