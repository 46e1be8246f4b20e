// The page of a model: its tables and charts of nodes, rows and variants.

#include <gtest/gtest.h>

#include "report/model/document.hpp"
#include "report/render/html/html.hpp"
#include "report/render/text_forms.hpp"
#include "support/documents.hpp"
#include "support/models.hpp"
#include "support/whole.hpp"

namespace spdnn {
namespace {

using testing::block_of;
using testing::make_matrix;
using testing::ModelBuilder;
using testing::Rows;

/// A convolution whose rows have 0, 1, 2 and 5 of 8 weights at 3 x 4 places, and a linear node of 2 x 48, one of them
/// zero.
Model small_model() {
  ModelBuilder builder;
  const ValueId x = builder.input({kBatchExtent, 2, 4, 5});
  Convolution convolution;
  Rows rows(4);
  for (const auto& [row, count] : {std::pair(1U, 1U), std::pair(2U, 2U), std::pair(3U, 5U)})
    for (Index column = 0; column < count; ++column) rows[row].emplace_back(column, 0.5F);
  convolution.weights = make_matrix(8, rows);
  convolution.window.kernel = {2, 2};
  const ValueId y = builder.add(convolution, {x});
  const ValueId flat = builder.add(Reshape{{kBatchExtent, 48}}, {y});
  Rows dense(2);
  for (Index column = 0; column < 48; ++column)
    for (auto& row : dense)
      if (&row != dense.data() || column > 0) row.emplace_back(column, 1.0F);
  const ValueId z = builder.add(Linear{make_matrix(48, dense), {}}, {flat});
  return builder.finish({z});
}

std::string text_of(const Row& row) {
  std::string text;
  for (const Cell& cell : row.cells) text += cell.text + "|";
  return text;
}

std::vector<double> values_of(const Series& series) {
  std::vector<double> values;
  for (const Point& point : series.points) values.push_back(point.y);
  return values;
}

class ModelDocument : public ::testing::Test {
 protected:
  ModelDocument() {
    view_.answers = {{"dense", "all of it", "", 2'500'000}, {"odd", "none", "it takes no <models>", 0}};
    view_.would_run = "dense fp32";
    view_.why = "it is the first";
  }
  Document document(std::optional<std::size_t> shown) const { return model_document(view_, shown); }

  Model model_ = small_model();
  ModelView view_ = view_of("m.onnx", model_);
};

TEST_F(ModelDocument, NodesAreListedWithTheirWeightsAndWork) {
  const Document page = document(0);
  const Table& table = block_of<Table>(page, "nodes-table");
  ASSERT_EQ(table.rows.size(), 3U);
  EXPECT_EQ(text_of(table.rows[0]), "1|convolution|node0|N x 4 x 3 x 4|32|8|75.00|0|2.000|5|384.0|96.00|");
  EXPECT_EQ(text_of(table.rows[1]), "2|reshape|node1|N x 48|||||||||");
  EXPECT_EQ(text_of(table.rows[2]), "3|linear|node2|N x 2|96|95|1.042|47|47.50|48|96.00|95.00|");
  for (const Row& row : table.rows) EXPECT_EQ(row.cells.size(), table.columns.size());
}

TEST_F(ModelDocument, ChartsShowZerosRowsAndWorkOfNodesWithWeights) {
  const Document page = document(0);
  EXPECT_EQ(values_of(block_of<Chart>(page, "zeros").series[0]), (std::vector<double>{75, 100.0 * (1 - 95.0 / 96)}));
  const Chart& rows = block_of<Chart>(page, "rows");
  EXPECT_EQ(values_of(rows.series[0]), (std::vector<double>{62.5, 100}));
  EXPECT_EQ(values_of(rows.series[1]), (std::vector<double>{25, 100 * (47.5 / 48)}));
  EXPECT_EQ(values_of(rows.series[2]), (std::vector<double>{0, 100 * (47.0 / 48)}));
  EXPECT_EQ(rows.series[0].points[1].x, 3);
  EXPECT_EQ(rows.series[0].points[1].label, "node 3, node2");
  const Chart& work = block_of<Chart>(page, "work-by-node");
  EXPECT_EQ(values_of(work.series[0]), (std::vector<double>{384, 96}));
  EXPECT_EQ(values_of(work.series[1]), (std::vector<double>{96, 95}));
}

/// Rows of 0, 1, 2 and 5 with a mean of 2; both rows of the linear node are near theirs.
TEST_F(ModelDocument, RowsAreComparedWithTheMeanOfTheirNode) {
  const Document page = document(0);
  const Chart& skew = block_of<Chart>(page, "skew");
  EXPECT_EQ(values_of(skew.series[1]), (std::vector<double>{25, 0, 25, 0, 25, 0, 0, 0, 0, 25}));
  const std::vector<double> all = values_of(skew.series[0]);
  EXPECT_NEAR(all[4], 100.0 * 2 / 6, 1e-9);  // 2 of 2, and 47 of 47.5
  EXPECT_NEAR(all[5], 100.0 * 1 / 6, 1e-9);  // 48
}

TEST_F(ModelDocument, TheShownNodeIsTheOneThatIsNamed) {
  EXPECT_EQ(heaviest_node(view_), 2U);
  const Document page = document(0);
  const Chart& convolution = block_of<Chart>(page, "spy");
  EXPECT_EQ(convolution.grid.height, 4U);
  EXPECT_EQ(convolution.grid.width, 8U);
  EXPECT_EQ(convolution.grid.counts[8], 1U);
  EXPECT_EQ(convolution.grid.entry, "non-zero");
  const Document other = document(2);
  EXPECT_EQ(block_of<Chart>(other, "spy").grid.width, 48U);
  EXPECT_NE(other.summary.find("node 3 is shown in detail"), std::string::npos);
}

TEST(ModelDocumentOfLittle, OfEquallyHeavyNodesTheFirstIsShown) {
  ModelBuilder builder;
  const ValueId x = builder.input({kBatchExtent, 2});
  const ValueId y = builder.add(Linear{make_matrix(2, Rows{{{0, 1.0F}}, {}}), {}}, {x});
  const Model model = builder.finish({builder.add(Linear{make_matrix(2, Rows{{{0, 1.0F}}, {{1, 1.0F}}}), {}}, {y})});
  EXPECT_EQ(heaviest_node(view_of("m.onnx", model)), 0U);
}

TEST(ModelDocumentOfLittle, ANodeWithoutOutputsHasNoWeightsToShow) {
  ModelBuilder builder;
  const ValueId x = builder.input({kBatchExtent, 3});
  const Model model = builder.finish({builder.add(Linear{make_matrix(3, {}), {}}, {x})});
  EXPECT_NE(to_html(model_document(view_of("m.onnx", model), 0)).find("The node has no weights."), std::string::npos);
}

TEST_F(ModelDocument, VariantsSayWhatTheyTakeOrWhyNot) {
  const Document page = document(0);
  const Table& table = block_of<Table>(page, "variants-table");
  EXPECT_EQ(text_of(table.rows[0]), "dense|2.500|all of it|");
  EXPECT_EQ(text_of(table.rows[1]), "odd||does not support it: it takes no <models>|");
  EXPECT_TRUE(table.rows[1].apart);
  const std::string html = to_html(page);
  EXPECT_NE(html.find("<code>dense fp32</code> would run it: it is the first."), std::string::npos);
  EXPECT_NE(html.find("have other numbers, and 1 image at a time;"), std::string::npos);
  EXPECT_NE(html.find("it takes no &lt;models&gt;"), std::string::npos);
  view_.would_run.clear();
  view_.why = "nothing computes it";
  EXPECT_NE(to_html(document(0)).find("<code>spdnn infer</code> refuses the model: nothing computes it."),
            std::string::npos);
}

TEST_F(ModelDocument, TheProgramIsThatOfTheVariantThatWouldRun) {
  view_.answers[0].program = {{2e-6, "direct", "nhwc -> nhwc", "node0 + clip", "of 3 taps"},
                              {1e-6, "gemm", "rows", "b"}};
  view_.answers[1].program = {{5e-6, "other", "rows -> rows", "c"}};
  const Document page = document(0);
  const Table& table = block_of<Table>(page, "program-table");
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_EQ(text_of(table.rows[0]), "1|node0 + clip|direct|nhwc -> nhwc|of 3 taps|2.000|");
  EXPECT_EQ(text_of(table.rows[1]), "2|b|gemm|rows||1.000|");
  EXPECT_NE(to_html(page).find("2 kernels in 3.000 us, as predicted."), std::string::npos);
  view_.answers.push_back({"dense_8", "in 8 bits", "", 1});
  view_.answers[2].program = {{4e-6, "bytes", "rows", "d"}};
  view_.would_run = "dense_8 fp32";
  EXPECT_EQ(program_of(view_).at(0).kernel, "bytes") << "not that of the variant whose name begins so";
  view_.would_run.clear();
  for (const Section& section : document(0).sections) EXPECT_NE(section.id, "program");
}

TEST_F(ModelDocument, ChartsHaveTheNumbersOfTheModel) {
  EXPECT_EQ(testing::charts_of(document(0)), R"(zeros: lines of node by % of the weights to 100
  zeros, no line: 1 75 node 1, node0; 3 1.042 node 3, node2;
rows: lines of node by % of a row's weights
  most, no line: 1 62.5 node 1, node0; 3 100 node 3, node2;
  mean, no line: 1 25 node 1, node0; 3 98.96 node 3, node2;
  fewest, no line: 1 0 node 1, node0; 3 97.92 node 3, node2;
skew: bars of % of the rows
  0 none
  1 up to 1/4
  2 1/4 to 1/2
  3 1/2 to 3/4
  4 3/4 to 1
  5 1 to 5/4
  6 5/4 to 3/2
  7 3/2 to 7/4
  8 7/4 to 2
  9 more than twice the mean
  all nodes: 0 16.67; 1 0; 2 16.67; 3 0; 4 33.33; 5 16.67; 6 0; 7 0; 8 0; 9 16.67;
  node 1, node0: 0 25; 1 0; 2 25; 3 0; 4 25; 5 0; 6 0; 7 0; 8 0; 9 25;
spy: spy of weight of a row by output channel
work-by-node: lines of node by multiply-adds of an image (log)
  all weights, no line: 1 384 node 1, node0; 3 96 node 3, node2;
  non-zero, no line: 1 96 node 1, node0; 3 95 node 3, node2;
)");
}

TEST_F(ModelDocument, TablesHaveTheirColumns) {
  view_.answers[0].program = {{2e-6, "direct", "nhwc -> nhwc", "node0 + clip", "of 3 taps"}};
  EXPECT_EQ(
      testing::columns_of(document(0)),
      R"(nodes-table of 3: node #; operation; name; output; weights #; non-zero #; zeros, % #; min of a row #; mean #; max #; multiply-adds #; of non-zeros #;
variants-table of 2: variant; memory, MB #; description, or why it does not support the model;
program-table of 1: step #; operation; kernel; layouts; why; predicted, us #;
)");
}

TEST_F(ModelDocument, AModelWithoutWeightsHasNoChartsOfThem) {
  ModelBuilder builder;
  const ValueId x = builder.input({kBatchExtent, 2});
  const Model plain = builder.finish({builder.add(Activation{}, {x})});
  const ModelView view = view_of("p.onnx", plain);
  EXPECT_EQ(heaviest_node(view), std::nullopt);
  const Document page = model_document(view, heaviest_node(view));
  ASSERT_EQ(page.sections.size(), 2U);
  EXPECT_NE(page.summary.find("No node has weights."), std::string::npos);
}

TEST_F(ModelDocument, WholePage) {
  const Document page = document(0);
  testing::expect_whole(__FILE__, "model_document.txt",
                        to_markdown(page) + testing::charts_of(page) + testing::descriptions_of(page));
}

}  // namespace
}  // namespace spdnn
