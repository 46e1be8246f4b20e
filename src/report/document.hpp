#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace spdnn {

/// A report before it has a form: sections of paragraphs, tables and charts. Every number is put into words here, once,
/// so that all forms of a report (report/render/) show the same. All text is plain, whatever characters it holds; only
/// in a Paragraph do `backticks` set code.

struct Column {
  std::string title;
  std::string unit = {};        ///< shown with the title; empty: none
  bool number = false;          ///< stands right
  std::string definition = {};  ///< one sentence, for those who do not know the column
};

struct Cell {
  std::string text;                  ///< empty: nothing is known
  std::optional<double> value = {};  ///< what the text says, unrounded; tables are sorted by it

  Cell(std::string words = {}) : text(std::move(words)) {}  // NOLINT(google-explicit-constructor): a row is a list
  Cell(const char* words) : text(words) {}                  // NOLINT(google-explicit-constructor)
  Cell(std::string words, double number) : text(std::move(words)), value(number) {}
};

struct Row {
  std::vector<Cell> cells;  ///< one for each column
  bool apart = false;       ///< shown as something that is not a result of the same standing
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
  std::optional<double> end = {};  ///< of the axis; otherwise what is shown tells
};

struct Point {
  double x;                ///< of bars, the number of the category, from 0
  double y;                ///< above 0 on a logarithmic axis
  std::string label = {};  ///< what it is, where the series holds several things
};

struct Series {
  std::string name = {};
  std::vector<Point> points = {};
  bool line = true;   ///< joined by a line; in Chart::Kind::lines only
  bool marks = true;  ///< each point is marked; likewise
};

/// Where the entries of a matrix are, counted in cells: row i of the matrix is in row i * rows / height of the cells,
/// rounded down, and columns likewise.
struct Grid {
  std::string entry = "edge";  ///< what an entry is; an s makes it several
  std::uint64_t height = 0;    ///< rows of the matrix
  std::uint64_t width = 0;     ///< its columns
  std::uint64_t rows = 0;      ///< of cells, at most `height`
  std::uint64_t columns = 0;
  std::vector<std::uint64_t> counts = {};  ///< of entries, by cell, row after row

  /// The first row or column of the matrix in cell `cell` of `cells` along a side of `length`.
  static std::uint64_t first_in(std::uint64_t cell, std::uint64_t cells, std::uint64_t length) {
    return (cell * length + cells - 1) / cells;
  }
};

/// A picture of numbers that a table has too: forms without pictures leave it out.
struct Chart {
  enum class Kind { bars, stacked_bars, lines, spy };
  std::string id = {};           ///< unique in the document, as of tables
  std::string title = {};        ///< what is shown
  std::string description = {};  ///< what is to be seen, in a sentence or two, for those who cannot look
  Kind kind = Kind::bars;
  Axis x = {};                               ///< of bars, which lie: the axis of values
  Axis y = {};                               ///< of bars: not used; of spy, the axis of rows
  std::vector<std::string> categories = {};  ///< of bars, from top to bottom
  std::vector<Series> series = {};           ///< of spy: not used
  Grid grid = {};                            ///< of spy: what it shows
};

struct Paragraph {
  std::string text = {};
};

struct Section {
  std::string id = {};  ///< unique in the document, as of tables
  std::string title = {};
  std::vector<std::variant<Paragraph, Table, Chart>> blocks = {};
};

struct Document {
  std::string title = {};
  std::string summary = {};  ///< a paragraph
  std::vector<Section> sections = {};
};

}  // namespace spdnn
