// The body of a page that has everything a document may have, compared with html_body.txt.

#include <gtest/gtest.h>

#include <string>

#include "report/document.hpp"
#include "report/render/html/html.hpp"
#include "support/whole.hpp"

namespace spdnn {
namespace {

Table table_of_all_cells() {
  return {"t",
          "With `code`, & more.",
          {{"name", "", false, "What it is \"called\""},
           {"number", "ms", true, "Measured"},
           {"whole", "", true},
           {"words", "x<y", false}},
          {{{{"a_name,of two, parts,"}, Cell("1.25", 1.25), Cell("7", 7), "1.5"}},
           {{"", Cell("-12.5", -12.5), Cell("-3", -3), "plain"}, true},
           {{"\x1f", Cell("3", 3), Cell("", 1.0 / 0.0), "-"}},
           {{"4,5", Cell("1e9", 1e9), Cell("-", 0)}},
           {{"-", Cell(".5.", 0.5), Cell("12", 12), "~0 1"}}}};
}

Document document_of_all_blocks() {
  Document document{"A <title>", "All of `x` & `y", {}};
  document.sections.push_back({"first", "First & last", {Paragraph{"`Some` 100 %, `open"}, table_of_all_cells()}});
  Chart bars{.id = "bars",
             .title = "Bars < sticks",
             .description = "In `ms`.",
             .kind = Chart::Kind::bars,
             .x = {"ms", true},
             .categories = {"one", "two", "three"},
             .series = {{"a", {{0, 1.5}, {2, 3}}}, {"b", {{0, 2}, {1, 0.00012345}}}, {"c", {{0, 4}}}}};
  Chart stacked = bars;
  stacked.id = "stacked";
  stacked.kind = Chart::Kind::stacked_bars;
  stacked.x = {"s", false, 9};
  document.sections.push_back({"charts", "Charts", {bars, stacked}});
  document.sections.push_back(
      {"lines",
       "Lines",
       {Chart{.id = "lines",
              .title = "Lines",
              .kind = Chart::Kind::lines,
              .x = {"layer", true, 5},
              .y = {"%", false, 100},
              .series = {{"l", {{1, 2}, {3, 4.5, "label"}}, true, false}, {"m", {{6, 7}}, false, true}}},
        Chart{.id = "empty", .title = "Empty", .kind = Chart::Kind::bars}}});
  Grid grid{.entry = "weight", .height = 40, .width = 9, .rows = 10, .columns = 3, .counts = {}};
  for (std::uint64_t i = 0; i < 30; ++i) grid.counts.push_back(i * i);
  Chart spy{.id = "spy", .title = "Spy", .kind = Chart::Kind::spy, .x = {"input"}, .y = {"output"}, .grid = grid};
  Chart wide = spy;
  wide.id = "wide";
  wide.grid = {.height = 2, .width = 50, .rows = 2, .columns = 25, .counts = std::vector<std::uint64_t>(50, 3)};
  Chart even = wide;
  even.id = "even";
  even.grid = {.height = 8, .width = 10, .rows = 8, .columns = 10, .counts = std::vector<std::uint64_t>(80, 1)};
  document.sections.push_back({"cells", "Cells", {spy, wide, even}});
  return document;
}

TEST(HtmlBody, HasEachBlockInItsPlace) {
  const std::string page = to_html(document_of_all_blocks());
  const std::size_t begin = page.find("<body>");
  const std::size_t footer = page.find("<footer>");
  const std::size_t data = page.find("<script type=\"application/json\"");
  const std::size_t end = page.find("<script id=\"library\">");
  ASSERT_TRUE(begin < footer && footer < data && data < end && end != std::string::npos);
  testing::expect_whole(__FILE__, "html_body.txt", page.substr(begin, footer - begin) + page.substr(data, end - data));
}

}  // namespace
}  // namespace spdnn
