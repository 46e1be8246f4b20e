// The page of a pruned model, and its report as text and JSON.

#include "report/prune_document.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "core/text/json_text.hpp"
#include "report/render/text_forms.hpp"
#include "support/documents.hpp"
#include "support/whole.hpp"

namespace spdnn {
namespace {

using testing::block_of;

std::string words_of(const Row& row) {
  std::string text;
  for (const Cell& cell : row.cells) text += cell.text + "|";
  return text;
}

/// A stem that stays, and a layer of which half is pruned, after a search.
PruneReport small_report() {
  PruneReport report{.model = "dense <b>.onnx", .out = "out.onnx", .method = "by hand", .calibrated = 3, .threads = 2};
  report.layers = {{.node = 0,
                    .name = "stem",
                    .operation = "convolution",
                    .left = true,
                    .weights = 10,
                    .nonzeros_before = 10,
                    .nonzeros_after = 10,
                    .seconds_before = 2e-6,
                    .seconds_after = 2e-6,
                    .measured_before = 3e-6,
                    .measured_after = 3e-6},
                   {.node = 4,
                    .name = "fc",
                    .operation = "linear",
                    .weights = 30,
                    .nonzeros_before = 30,
                    .nonzeros_after = 15,
                    .seconds_before = 6e-6,
                    .seconds_after = 4e-6,
                    .measured_before = 9e-6,
                    .measured_after = 6e-6,
                    .error_before = 0.5,
                    .error_after = 0.25,
                    .trials = {{0.5, 0.1, 4e-6}, {0.9, 0.75, 1e-6}}}};
  report.seconds_before = 10e-6;
  report.seconds_after = 8e-6;
  report.timed_runs = 7;
  report.measured_before = 14e-6;
  report.measured_after = 11e-6;
  report.measure = PruneMeasure{
      .first = 3, .images = 5, .accuracy_before = 0.8, .accuracy_after = 0.6, .agreement = 0.9, .distance = 0.125};
  report.notes = {"a note"};
  return report;
}

TEST(PruneDocument, LayersHaveZerosAndTimesBeforeAndAfter) {
  const Document page = prune_document(small_report());
  const Table& table = block_of<Table>(page, "pruned-table");
  ASSERT_EQ(table.rows.size(), 3U);
  EXPECT_EQ(words_of(table.rows[0]), "1|convolution|stem|10|0|0|2.000|2.000|3.000|3.000|1.00|||");
  EXPECT_EQ(words_of(table.rows[1]), "5|linear|fc|30|0|50.00|6.000|4.000|9.000|6.000|1.50|0.5000|0.2500|");
  EXPECT_EQ(words_of(table.rows[2]), "all|||40|0|37.50|10.00|8.000|14.00|11.00|1.27|||");
  EXPECT_TRUE(table.rows[2].apart);
  for (const Row& row : table.rows) EXPECT_EQ(row.cells.size(), table.columns.size());
}

TEST(PruneDocument, ChartsShowZerosTimesAndTrials) {
  const Document page = prune_document(small_report());
  EXPECT_EQ(testing::charts_of(page),
            "zeros: lines of node by % of the weights to 100\n"
            "  before, no line: 1 0 node 1, stem; 5 0 node 5, fc;\n"
            "  after, no line: 1 0 node 1, stem; 5 50 node 5, fc;\n"
            "times: lines of node by us\n"
            "  predicted, no line: 1 2 node 1, stem; 5 6 node 5, fc;\n"
            "  predicted after, no line: 1 2 node 1, stem; 5 4 node 5, fc;\n"
            "  measured, no line: 1 3 node 1, stem; 5 9 node 5, fc;\n"
            "  measured after, no line: 1 3 node 1, stem; 5 6 node 5, fc;\n"
            "losses: lines of node by relative distance\n"
            "  50 % zeros, no line: 5 0.1 node 5, fc;\n"
            "  90 % zeros, no line: 5 0.75 node 5, fc;\n");
  const Table& trials = block_of<Table>(page, "trials-table");
  ASSERT_EQ(trials.rows.size(), 2U);
  EXPECT_EQ(words_of(trials.rows[1]), "5|fc|90.00|0.7500|1.000|");
}

TEST(PruneDocument, SaysWhatWasLost) {
  const Document page = prune_document(small_report());
  const Table& loss = block_of<Table>(page, "loss-table");
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "On 5 images from image 4. ", loss.caption);
  ASSERT_EQ(loss.rows.size(), 3U);
  EXPECT_EQ(words_of(loss.rows[0]), "accuracy (%)|80.00|60.00|");
  EXPECT_EQ(words_of(loss.rows[1]), "agreement (%)|100.0|90.00|");
  EXPECT_EQ(words_of(loss.rows[2]), "distance|0|0.1250|");
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "37.50 % of 40 weights are zero, where 0 % were", page.summary);
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "measured 1.1e-05 s instead of 1.4e-05 s, 1.27 times", page.summary);
}

TEST(PruneDocument, WithoutImagesRunsAndTrialsSaysNothingOfThem) {
  PruneReport report = small_report();
  report.calibrated = 0;
  report.measure.reset();
  report.timed_runs = 0;
  for (PrunedLayer& layer : report.layers) layer.trials.clear();
  const Document page = prune_document(report);
  EXPECT_EQ(page.sections.size(), 2U);
  EXPECT_EQ(block_of<Chart>(page, "times").series.size(), 2U);
  EXPECT_EQ(words_of(block_of<Table>(page, "pruned-table").rows[1]),
            "5|linear|fc|30|0|50.00|6.000|4.000||||0.5000|0.2500|");
  EXPECT_EQ(page.summary.find("measured"), std::string::npos);
  const std::string text = to_text(report);
  EXPECT_EQ(text.find("\ntimed"), std::string::npos) << text;
  PruneReport cleared = report;
  for (PrunedLayer& layer : cleared.layers) layer.measured_before = layer.measured_after = 0;
  cleared.measured_before = cleared.measured_after = 0;
  EXPECT_EQ(to_text(cleared), text);
  const Json line = parse_json(to_json(report));
  EXPECT_TRUE(line["measured_seconds"]["after"].is_null() && line.at("measured").is_null());
  EXPECT_TRUE(line["layers"][1]["measured_seconds"]["before"].is_null());
}

TEST(PruneReportText, TotalsHaveThePredictedAndTheMeasuredTime) {
  const std::string text = to_text(small_report());
  const std::size_t begin = text.find("\ntotal") + 1;
  std::istringstream total(text.substr(begin, text.find('\n', begin) - begin));
  std::string words;
  for (std::string word; total >> word;) words += word + " ";
  EXPECT_EQ(words, "total 40 0.00 37.50 10.0 8.0 14.0 11.0 and all other nodes ") << text;
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "1.27 times as fast; the shortest of 7 runs for each node", text);
}

TEST(PruneReportText, LinesNumberNodesFromOneAndHaveBothAccuracies) {
  const Json line = parse_json(to_json(small_report()));
  EXPECT_EQ(line["layers"][0]["node"], 1);
  EXPECT_EQ(line["layers"][1]["node"], 5);
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "\naccuracy   0.8000 -> 0.6000\n", to_text(small_report()));
}

TEST(PruneReportText, WithoutTimesSaysNothingOfTheirQuotient) {
  PruneReport report;
  report.calibrated = 0;
  EXPECT_EQ(to_text(report).find("calibrated"), std::string::npos);
  report.calibrated = 1;
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "calibrated with 1 image\n", to_text(report));
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "predicted  0 s -> 0 s for 1 image, 1 threads\n", to_text(report));
  report.timed_runs = 5;
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "timed      0 s -> 0 s; the shortest of 5 runs", to_text(report));
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "measured 0 s instead of 0 s, of the shortest",
                      prune_document(report).summary);
}

TEST(PruneDocument, WholePage) {
  const Document page = prune_document(small_report());
  testing::expect_whole(__FILE__, "prune_document.txt",
                        to_markdown(page) + to_latex(page) + to_csv(page, "pruned-table") + testing::charts_of(page));
}

}  // namespace
}  // namespace spdnn
