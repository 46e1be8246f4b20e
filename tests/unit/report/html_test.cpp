#include "report/render/html/html.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "report/document.hpp"

namespace spdnn {
namespace {

Document one_section(std::vector<std::variant<Paragraph, Table, Chart>> blocks) {
  return {"T", "S", {{"part", "Part", std::move(blocks)}}};
}

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += what.size()) ++found;
  return found;
}

bool has(const std::string& text, const std::string& what) { return count(text, what) > 0; }

constexpr const char* kHostile = "</script><img src=x onerror='alert(1)'>\"&\x01";

TEST(Html, EscapesWhateverStandsInText) {
  const Table table{"t", kHostile, {{kHostile, kHostile, true, kHostile}}, {{{Cell(kHostile, 1.5)}}}};
  const Chart chart{.id = "c",
                    .title = kHostile,
                    .description = kHostile,
                    .x = {kHostile},
                    .categories = {kHostile},
                    .series = {{kHostile, {{0, 1, kHostile}}}}};
  const std::string plain = to_html(one_section({}));
  Document document = one_section({Paragraph{kHostile}, table, chart});
  document.title = document.summary = document.sections[0].title = kHostile;
  const std::string page = to_html(document);
  EXPECT_FALSE(has(page, "<img"));
  EXPECT_EQ(count(page, "</script>"), count(plain, "</script>"));
  EXPECT_FALSE(has(page, "\x01"));
  EXPECT_TRUE(has(page, "&lt;/script&gt;&lt;img src=x onerror=&#39;alert(1)&#39;&gt;&quot;&amp; "));
}

TEST(Html, BytesThatAreNoTextDoNotEndIt) {
  const Chart chart{.id = "c", .title = "\xff", .series = {{"\xfe", {}}}};
  EXPECT_TRUE(has(to_html(one_section({chart})), "\\ufffd"));
}

TEST(Html, CellsKeepTheirTextAndAreSortedByTheirNumber) {
  const Table table{"t", "", {{"a", "ms", true}, {"b"}}, {{{Cell("0.09400", 0.09399821), ""}}, {{"x"}, true}}};
  const std::string page = to_html(one_section({table}));
  EXPECT_TRUE(has(page, "data-value=\"0.09399821\">0.09400</td>"));
  EXPECT_TRUE(has(page, "<td>-</td>"));
  EXPECT_TRUE(has(page, "<tr class=\"apart\">"));
  EXPECT_TRUE(has(page, "a <span class=\"unit\">(ms)</span>"));
}

TEST(Html, NumbersOfAChartAreWholeOrHaveFourDigits) {
  const Chart bars{
      .id = "c", .title = "C", .categories = {"p", "q", "r"}, .series = {{"s", {{0, 2}, {1, 2.5}, {2, 0.125}}}}};
  const std::string page = to_html(one_section({bars}));
  for (const char* const cell : {">2</td>", ">2.500</td>", ">0.1250</td>"}) EXPECT_TRUE(has(page, cell)) << cell;
}

TEST(Html, AChartComesWithItsNumbers) {
  const Chart bars{.id = "bars", .title = "Bars", .categories = {"p", "q", "r"}, .series = {{"s", {{1, 2}, {2, 9}}}}};
  const Chart lines{
      .id = "lines", .title = "Lines", .kind = Chart::Kind::lines, .series = {{"s", {{3, 4, "here"}, {5, 6}}}}};
  const std::string page = to_html(one_section({bars, lines}));
  const auto cell = [](int number) { return fmt::format("<td class=\"number\" data-value=\"{0}\">{0}</td>", number); };
  EXPECT_TRUE(has(page, "<tbody>\n<tr><td>p</td><td class=\"number\">-</td></tr>\n<tr><td>q</td>" + cell(2) +
                            "</tr>\n<tr><td>r</td>" + cell(9) + "</tr>\n</tbody>"));
  EXPECT_TRUE(has(page, "<tbody>\n<tr><td>s, here</td>" + cell(3) + cell(4) + "</tr>\n<tr><td>s</td>" + cell(5) +
                            cell(6) + "</tr>\n</tbody>"));
  EXPECT_TRUE(has(page, R"("points":[[1.0,2.0,""],[2.0,9.0,""]])"));
  EXPECT_TRUE(has(page, R"("points":[[3.0,4.0,"here"],[5.0,6.0,""]])"));
}

TEST(Html, ASpyPlotComesWithItsCellsAndSumsOfThem) {
  Chart spy{.id = "spy", .title = "Spy", .kind = Chart::Kind::spy, .x = {"input"}, .y = {"output"}};
  spy.grid = {.height = 20, .width = 2, .rows = 10, .columns = 2, .counts = std::vector<std::uint64_t>(20, 1)};
  spy.grid.counts[0] = 5;
  const std::string page = to_html(one_section({spy}));
  EXPECT_TRUE(has(page, "\"grid\":{\"height\":20,\"width\":2,\"rows\":10,\"columns\":2,\"counts\":[5,1,"));
  EXPECT_TRUE(has(page, "data-shape=\"2.000\""));
  // Ten rows of cells, two matrix rows each, in eight rows of the table: the first has two of them.
  EXPECT_TRUE(has(page, "<tr><td>1 to 4</td><td class=\"number\" data-value=\"6\">6</td>"));
  EXPECT_TRUE(has(page, "<tr><td>5 to 6</td><td class=\"number\" data-value=\"1\">1</td>"));
}

TEST(Html, CodeStandsBetweenBackticksOfParagraphs) {
  const std::string page = to_html(one_section({Paragraph{"a `b<c` d `e"}}));
  EXPECT_TRUE(has(page, "<p>a <code>b&lt;c</code> d <code>e</code></p>"));
}

TEST(Html, ThePageHoldsTheLicenceAndAsksForNothing) {
  const std::string page = to_html(one_section({}));
  EXPECT_TRUE(has(page, "Permission is hereby granted"));
  EXPECT_TRUE(has(page, "default-src &#39;none&#39;") || has(page, "default-src 'none'"));
  EXPECT_FALSE(has(page, "src=\""));
}

}  // namespace
}  // namespace spdnn
