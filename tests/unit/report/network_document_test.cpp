// The page of a network: the cell of an edge, values that are grouped, the run that belongs to the network, and the
// account of its images.

#include <gtest/gtest.h>

#include <numeric>

#include "plan/planner.hpp"
#include "report/by_layer.hpp"
#include "report/network/document.hpp"
#include "report/network/histograms.hpp"
#include "report/network/spy.hpp"
#include "report/render/text_forms.hpp"
#include "spdnn/error.hpp"
#include "support/documents.hpp"
#include "support/plan_nets.hpp"
#include "support/whole.hpp"

namespace spdnn {
namespace {

using network_sections::Range;
using plan_tests::make_layer;
using plan_tests::Terms;
using testing::block_of;

Network square_network() {
  const std::vector<Terms> rows{{{0, 1.0F}, {1, 1.0F}}, {{0, 1.0F}, {1, 1.0F}}, {{2, 1.0F}}};
  return {{make_layer(3, rows, {-0.5, {}}, true), make_layer(3, rows, {-0.5, {}}, true)}, BiasRule::non_zeros, 32.0};
}

RunLine tiny_run() {
  RunLine run;
  run.widths = {3};
  run.layers = 2;
  run.edges = 10;
  run.bias = "-0.5";
  run.cap = "32";
  run.images = 100;
  run.passes = "saturated,dead,identical";
  run.alive = {60, 40};
  run.active = {50, 0};
  run.infer = {1, 1, 1, 1};
  return run;
}

std::string cells_of(const Row& row) {
  std::string text;
  for (const Cell& cell : row.cells) text += cell.text + "|";
  return text;
}

bool says(const Document& document, const std::string& text) {
  for (const Section& section : document.sections)
    for (const auto& block : section.blocks)
      if (const auto* paragraph = std::get_if<Paragraph>(&block);
          paragraph != nullptr && paragraph->text.find(text) != std::string::npos)
        return true;
  return false;
}

Document document_of(const Network& network, const Passes& passes, std::optional<RunLine> run = {}) {
  const Plan plan = make_plan(network, passes);
  return network_document({.name = "n",
                           .network = network,
                           .plan = plan,
                           .layers = describe(network, plan),
                           .official = run.has_value(),
                           .notes = {"one", "two"},
                           .variant = "v",
                           .why = run ? "it is the first" : "",
                           .memory = {{"plan in memory", 1500000}, {"images in memory", 250}},
                           .run = std::move(run)});
}

TEST(Spy, ASmallMatrixIsShownEntryByEntry) {
  const Grid grid = network_sections::spy(make_layer(4, {{{0, 1.0F}, {3, 1.0F}, {3, 2.0F}}, {{1, 1.0F}}}, {}).weights);
  EXPECT_EQ(grid.rows, 2U);
  EXPECT_EQ(grid.columns, 4U);
  EXPECT_EQ(grid.counts, (std::vector<std::uint64_t>{1, 0, 0, 2, 0, 1, 0, 0}));
}

TEST(Spy, CellsTakeRowsAndColumnsOfALargeOneTogether) {
  // Of five rows or columns in two cells, the first three are in the first.
  const std::vector<Terms> rows{{{0, 1.0F}}, {{2, 1.0F}}, {{3, 1.0F}}, {{0, 1.0F}, {4, 1.0F}}, {{4, 1.0F}}};
  const Grid grid = network_sections::spy(make_layer(5, rows, {}).weights, 2);
  EXPECT_EQ(Grid::first_in(1, 2, 5), 3U);
  EXPECT_EQ(grid.counts, (std::vector<std::uint64_t>{2, 1, 1, 2}));
}

TEST(NetworkDocument, ManyValuesAreTakenTogether) {
  EXPECT_EQ(network_sections::ranges_of(Histogram({3, 9})), (std::vector<Range>{{3, 3}, {9, 9}}));
  std::vector<Offset> few(20);
  std::iota(few.begin(), few.end(), Offset{1});
  EXPECT_EQ(network_sections::ranges_of(Histogram(few)).size(), 20U);
  few[19] = 40;
  EXPECT_EQ(network_sections::ranges_of(Histogram(few)).back(), Range(40, 40)) << "twenty values, each by itself";
  few.push_back(41);
  EXPECT_EQ(network_sections::ranges_of(Histogram(few)).front(), Range(1, 3)) << "twenty-one values, taken together";
  std::vector<Offset> near;
  for (Offset value = 101; value <= 140; ++value) near.push_back(value);
  const auto equal = network_sections::ranges_of(Histogram(near));
  EXPECT_EQ(equal.size(), 20U);
  EXPECT_EQ(equal.front(), Range(101, 102));
  std::vector<Offset> far(100, 1);
  for (Offset value = 0; value <= 40; ++value) far.push_back(value);
  const auto doubling = network_sections::ranges_of(Histogram(far));
  EXPECT_EQ(doubling, (std::vector<Range>{{0, 0}, {1, 1}, {2, 3}, {4, 7}, {8, 15}, {16, 31}, {32, 63}}));
  Offset counted = 0;
  for (const Range& range : doubling) counted += network_sections::count_in(Histogram(far), range);
  EXPECT_EQ(counted, far.size());
  far.push_back(64);
  EXPECT_EQ(network_sections::ranges_of(Histogram(far)).back(), Range(64, 127)) << "the greatest begins a range";
  near.push_back(143);
  EXPECT_EQ(network_sections::ranges_of(Histogram(near)).back(), Range(143, 145)) << "of equal width, likewise";
}

TEST(NetworkDocument, PointsStandWhereValuesChange) {
  const auto points = points_by_layer({7, 7, 7, 7, 0, 3}, true);
  ASSERT_EQ(points.size(), 3U);
  EXPECT_EQ(points[0].x, 1);
  EXPECT_EQ(points[1].x, 4);
  EXPECT_EQ(points[2].x, 6);
  EXPECT_EQ(points_by_layer({0}, false).size(), 1U);
  EXPECT_EQ(some_layers(30), (std::vector<std::size_t>{1, 2, 5, 10, 20, 30}));
  EXPECT_TRUE(some_layers(0).empty());
}

TEST(NetworkDocument, SaysWhatEachPassLeavesOut) {
  const Document document = document_of(square_network(), parse_passes("all"));
  const Table& table = block_of<Table>(document, "passes-table");
  ASSERT_EQ(table.rows.size(), 4U);
  EXPECT_EQ(cells_of(table.rows[0]), "unused: always zero|in force|6|6|10|10|0.0|");
  EXPECT_EQ(cells_of(table.rows[1]), "twins|in force|6|4|10|6|40.0|");
  EXPECT_EQ(cells_of(table.rows[3]), "merge|not requested|4|4|6|6|0.0|");
  EXPECT_EQ(cells_of(block_of<Table>(document, "classes-table").rows[1]), "2|2|1|");
  EXPECT_TRUE(says(document_of(square_network(), {}), "The pass `twins` is not requested"));
}

TEST(NetworkDocument, ClassesOfTwinsThatOnlyAnotherLayerHasAreInTheTable) {
  Network network = square_network();
  network.layers[1] = make_layer(3, std::vector<Terms>(3, {{0, 1.0F}}), {-0.5, {}}, true);
  const Document document = document_of(network, parse_passes("twins"));
  std::string cells;
  for (const Row& row : block_of<Table>(document, "classes-table").rows) cells += cells_of(row) + "\n";
  EXPECT_EQ(cells, "1|1|1|\n2|1|1|\n3|1|0|\n");
}

TEST(NetworkDocument, SharesUnderThePassesAddUpToAll) {
  const Document document = document_of(square_network(), parse_passes("all"));
  const Chart& chart = block_of<Chart>(document, "passes-shares");
  ASSERT_EQ(chart.categories.size(), 4U);
  std::vector<double> sums(4, 0);
  for (const Series& series : chart.series)
    for (const Point& point : series.points) sums[static_cast<std::size_t>(point.x)] += point.y;
  for (const double sum : sums) EXPECT_NEAR(sum, 100, 1e-9);
}

TEST(NetworkDocument, ShowsWhereImagesDieAndSettle) {
  EXPECT_TRUE(says(document_of(square_network(), {}), "--run run.jsonl"));
  const Document document = document_of(square_network(), {}, tiny_run());
  const Table& table = block_of<Table>(document, "images-table");
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_EQ(cells_of(table.rows[0]), "1|60|40|50|10|");
  EXPECT_EQ(cells_of(table.rows[1]), "2|40|60|||") << "nothing is computed after the last layer";
  EXPECT_TRUE(says(document, "Half of the images are dead after layer 2. The last one dies in layer 2."));
  RunLine run = tiny_run();
  run.alive = {60, 59};
  EXPECT_TRUE(says(document_of(square_network(), {}, run), "The last one dies in layer 2."));
  run.alive = {60, 60};
  EXPECT_TRUE(says(document_of(square_network(), {}, run), "The last one dies in layer 1."));
}

TEST(NetworkDocument, CellsWithOneEdgeAreCounted) {
  const Document document = document_of(square_network(), {});
  const std::string& text = block_of<Chart>(document, "spy").description;
  EXPECT_TRUE(text.ends_with("Every cell is a single position, and 5 of the 9 cells have edges.")) << text;
}

TEST(NetworkDocument, SaysWhatARunDoesNotTell) {
  RunLine run = tiny_run();
  run.active = {};
  EXPECT_TRUE(says(document_of(square_network(), {}, run), "The line does not contain"));
  run.active = {50, 0};
  run.passes = "identical";
  const Document document = document_of(square_network(), {}, run);
  EXPECT_TRUE(says(document, "also computed dead images"));
  EXPECT_EQ(cells_of(block_of<Table>(document, "images-table").rows[0]), "1|60|40|50||");
  run.alive = {};
  EXPECT_TRUE(says(document_of(square_network(), {}, run), "did not count"));
}

TEST(NetworkDocument, TheLastRunOfTheNetworkIsShown) {
  RunLine other = tiny_run();
  other.edges = 11;
  RunLine later = tiny_run();
  later.images = 7;
  const Network network = square_network();
  EXPECT_EQ(run_of(network, {{tiny_run(), later, other}, {}}, "f").images, 7U);
  for (const auto& change : {+[](RunLine& run) { run.edges = 9; }, +[](RunLine& run) { run.layers = 3; },
                             +[](RunLine& run) { run.widths = {4}; }, +[](RunLine& run) { run.bias = "-0.3"; },
                             +[](RunLine& run) { run.bias = "-0.5..0"; }, +[](RunLine& run) { run.cap = "none"; },
                             +[](RunLine& run) {
                               run.widths = {3, 3, 2};
                             }}) {
    RunLine wrong = tiny_run();
    change(wrong);
    EXPECT_THROW(run_of(network, {{wrong}, {}}, "f"), DataError);
  }
}

TEST(NetworkDocument, ARunOfANetworkOfSeveralBiasesMayTellAnyRangeOfThem) {
  Network network = square_network();
  network.layers[1].bias.uniform = -0.25;
  RunLine run = tiny_run();
  run.bias = "-0.5..-0.25";
  EXPECT_EQ(run_of(network, {{run}, {}}, "f").bias, "-0.5..-0.25");
  run.cap = "16";
  EXPECT_THROW(run_of(network, {{run}, {}}, "f"), DataError);
  network.cap.reset();
  run.cap = "none";
  EXPECT_EQ(run_of(network, {{run}, {}}, "f").cap, "none");
}

TEST(NetworkDocument, SeriesThatWouldHideOneAnotherAreOne) {
  const auto series =
      without_twins({{"most", {{1, 5}, {2, 7}}}, {"mean", {{1, 5}, {2, 7}}}, {"fewest", {{1, 5}, {2, 6}}}});
  ASSERT_EQ(series.size(), 2U);
  EXPECT_EQ(series[0].name, "most = mean");
  EXPECT_EQ(series[1].name, "fewest");
  EXPECT_EQ(without_twins({{"a", {{1, 5}, {2, 7}}}, {"b", {{1, 5}, {3, 7}}}}).size(), 2U) << "elsewhere";
}

TEST(NetworkDocument, ChartsHaveTheNumbersOfThePlanAndTheRun) {
  EXPECT_EQ(testing::charts_of(document_of(square_network(), parse_passes("all"), tiny_run())),
            R"(degree: bars of % of the neurons
  0 1
  1 2
  all layers: 0 33.33; 1 66.67;
  layer 1: 0 33.33; 1 66.67;
degree-by-layer: lines of layer by inputs of a neuron
  greatest = median, no marks: 1 2; 2 2;
  least, no marks: 1 1; 2 1;
readers: bars of % of the inputs
  0 1
  1 2
  all layers: 0 33.33; 1 66.67;
  layer 1: 0 33.33; 1 66.67;
readers-by-layer: lines of layer by neurons that read an input
  greatest = median, no marks: 1 2; 2 2;
  least, no marks: 1 1; 2 1;
spy: spy of input by output
spy-stored: spy of input by output
passes-shares: stacked bars of % to 100
  0 edges, all layers
  1 neurons, all layers
  2 edges, layer 1
  3 neurons, layer 1
  stored: 0 60; 1 66.67; 2 60; 3 66.67;
  twins: 0 40; 1 33.33; 2 40; 3 33.33;
edges-by-layer: lines of layer by edges (log)
  given, no marks: 1 5; 2 5;
  stored, no marks: 1 3; 2 3;
classes: bars of % of the stored neurons
  0 1
  1 2
  all layers: 0 50; 1 50;
  layer 1: 0 50; 1 50;
classes-by-layer: lines of layer by given neurons of a class
  greatest, no marks: 1 2; 2 2;
  median = least, no marks: 1 1; 2 1;
images-chart: lines of after layer (log) by images (log)
  alive: 1 60; 2 40;
  still computed: 1 50;
  settled or coincided: 1 10;
deaths-chart: lines of layer (log) by images (log)
  die: 1 40; 2 20;
)");
}

TEST(NetworkDocument, TablesHaveTheirColumns) {
  EXPECT_EQ(
      testing::columns_of(document_of(square_network(), parse_passes("all"), tiny_run())),
      R"(layers-table of 1: layers #; first #; inputs #; outputs #; edges #; min degree #; mean degree #; max degree #; density #; weights #; twins #; always zero #; unread #; stored #; stored edges #; terms #;
plan-table of 9: what; value;
passes-table of 4: pass; state; neurons before #; neurons after #; edges before #; edges after #; edges removed, % #;
dynamic-table of 3: pass; state; images that leave; certified from;
classes-table of 2: neurons of a class #; classes, all layers #; classes, layer 1 #;
images-table of 2: after layer #; alive #; dead #; still computed #; settled or coincided #;
)");
}

TEST(NetworkDocument, ASingleLayerIsNotShownTwice) {
  Network network = square_network();
  network.layers.resize(1);
  const std::string charts = testing::charts_of(document_of(network, parse_passes("all")));
  EXPECT_EQ(charts.find("all layers: 0"), std::string::npos) << charts;
  EXPECT_NE(charts.find("layer 1: 0"), std::string::npos) << charts;
  EXPECT_EQ(charts.find("by-layer"), std::string::npos) << charts;
}

/// The second layer keeps its edges and rows, but not the input that nothing reads.
TEST(NetworkDocument, ALayerThatLosesInputsAloneIsShownAsItIsStored) {
  const Network network{{make_layer(3, {{{0, 1.0F}}, {{1, 1.0F}}, {{2, 1.0F}}}, {-0.5, {}}),
                         make_layer(3, {{{0, 1.0F}}, {{1, 1.0F}}}, {-0.5, {}})},
                        BiasRule::non_zeros,
                        32.0};
  const Plan plan = make_plan(network, parse_passes("unused"));
  const auto page = [&](Index shown) {
    return network_document(
        {.name = "n", .network = network, .plan = plan, .layers = describe(network, plan), .shown = shown});
  };
  const Document second = page(1);
  EXPECT_EQ(block_of<Chart>(second, "spy-stored").grid.width, 2U);
  EXPECT_EQ(block_of<Chart>(second, "spy").grid.width, 3U);
  EXPECT_EQ(block_of<Chart>(page(0), "spy-stored").grid.height, 2U);
  EXPECT_FALSE(says(second, "The plan stores this layer unchanged."));
}

TEST(NetworkDocument, ALayerWithoutNeuronsIsNoPicture) {
  Network network = square_network();
  network.layers.resize(1);
  network.layers[0] = make_layer(3, {}, {-0.5, {}});
  EXPECT_TRUE(says(document_of(network, parse_passes("all")), "The layer has no neurons."));
  network.layers[0] = make_layer(0, {{}, {}}, {-0.5, {}});
  EXPECT_TRUE(says(document_of(network, parse_passes("none")), "The layer has no neurons.")) << "to read";
}

TEST(NetworkDocument, WholePages) {
  // Rows of 1 to 40 entries, more lengths than a histogram has bars, and a second layer that reads a half.
  std::vector<Terms> rows(40);
  for (Index row = 0; row < 40; ++row)
    for (Index column = 0; column <= row; ++column) rows[row].emplace_back(column, 0.25F * static_cast<float>(row % 5));
  std::vector<Terms> last(3);
  for (Index column = 0; column < 40; column += 2) last[column % 3].emplace_back(column, 0.5F);
  const Network uneven{
      {make_layer(40, rows, {-0.25, {}}), make_layer(40, last, {-0.5, {}})}, BiasRule::non_zeros, 16.0};
  // Twins, outputs that are always zero and outputs that nothing reads, of each another number.
  const Terms pair{{0, 1.0F}, {1, 1.0F}};
  const Terms three{{2, 1.0F}, {3, 1.0F}, {4, 1.0F}};
  const std::vector<Terms> wide{pair, pair, pair, three, {}, {}, {}, {}, {{0, 2.0F}}, {{1, 2.0F}}, {{5, 2.0F}}};
  const std::vector<Terms> readers{{{0, 1.0F}, {1, 1.0F}, {2, 1.0F}, {3, 1.0F}}, {{3, 1.0F}, {10, 1.0F}, {5, 1.0F}}};
  const Network left_out{
      {make_layer(6, wide, {-0.5, {}}), make_layer(11, readers, {-0.5, {}})}, BiasRule::non_zeros, 32.0};
  RunLine none_dies = tiny_run();
  none_dies.alive = {100, 100};
  none_dies.active = {80, 70};
  none_dies.computed_edges = 300;
  none_dies.status = "PASSED";
  none_dies.categories = 100;
  none_dies.cap = "none";
  RunLine not_counted = tiny_run();
  not_counted.alive = {50, 49};
  not_counted.active = {};
  not_counted.precision = "fp16";
  RunLine idle = tiny_run();
  idle.layers = 4;
  idle.alive = {90, 30, 30, 20};
  idle.active = {70, 20, 0, std::nullopt};
  RunLine all_computed = idle;
  all_computed.passes = "saturated";
  std::string all;
  for (const Document& page :
       {document_of(square_network(), parse_passes("all"), tiny_run()), document_of(uneven, parse_passes("none")),
        document_of(left_out, parse_passes("all"), none_dies),
        document_of(left_out, parse_passes("twins"), not_counted), document_of(left_out, parse_passes("none"), idle),
        document_of(left_out, {}, all_computed)})
    all += page.summary + "\n" + to_markdown(page) + testing::charts_of(page) + testing::descriptions_of(page);
  testing::expect_whole(__FILE__, "network_document.txt", all);
}

}  // namespace
}  // namespace spdnn
