#include "report/results_document.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "report/checks.hpp"
#include "report/configurations.hpp"
#include "report/json_fields.hpp"
#include "report/sections/cells.hpp"
#include "report/sections/sections.hpp"
#include "spdnn/error.hpp"
#include "support/documents.hpp"

namespace spdnn {
namespace {

LineOrigin machine(const std::string& device, const std::string& commit = "abc") {
  return {.host = "h", .cpu = "C", .device = device, .driver = "", .cuda = "", .version = "0", .commit = commit};
}

/// A verified run of 1024 x 120 on one rank.
RunLine run_line(const std::string& variant, double seconds, int ranks = 1) {
  RunLine line;
  line.neurons = "1024";
  line.width = 1024;
  line.layers = 120;
  line.images = 60000;
  line.edges = 3932160;
  line.batch = 60000;
  line.bias = "-0.3";
  line.cap = "32";
  line.variant = variant;
  line.passes = "dead";
  line.precision = "fp32";
  line.ranks = ranks;
  line.infer = {seconds, seconds, seconds, 0};
  line.total = 2;
  line.status = "PASSED";
  line.against = "list";
  line.checks = {"list"};
  line.categories = 1812;
  line.origin = machine("D");
  return line;
}

ModelLine model_run(const std::string& file, double seconds) {
  return {.model = file,
          .variant = "conv_dense",
          .precision = "fp32",
          .status = "PASSED",
          .images = 8,
          .batch = 4,
          .weights = 100,
          .nonzeros = 10,
          .infer = {seconds, seconds, seconds, 0},
          .images_per_second = 8 / seconds,
          .dense = 7e9,
          .sparse = 2e9,
          .origin = machine("")};
}

LayerLine layer_line(const std::string& variant, double rate) {
  return {.variant = variant,
          .precision = "fp32",
          .weights = "constant",
          .neurons = 1024,
          .degree = 32,
          .layers = 8,
          .images = 10,
          .seconds = {1, 1, 1, 0},
          .edges_per_second = rate,
          .bytes = 1e9,
          .ceiling = 1e9,
          .origin = machine("")};
}

template <typename Block>
const Block* find_block(const Section& section, const std::string& id) {
  for (const auto& block : section.blocks)
    if (const auto* one = std::get_if<Block>(&block); one != nullptr && one->id == id) return one;
  return nullptr;
}

template <typename Block>
const Block* find_block(const Document& document, const std::string& id) {
  for (const Section& section : document.sections)
    if (const Block* one = find_block<Block>(section, id)) return one;
  return nullptr;
}

/// The texts of a column, row by row.
std::vector<std::string> column(const Table& table, const std::string& title) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < table.columns.size(); ++i)
    if (table.columns[i].title == title)
      for (const Row& row : table.rows) texts.push_back(row.cells[i].text);
  return texts;
}

using Texts = std::vector<std::string>;

std::string titles_of(const Document& document) {
  std::string titles;
  for (const Section& section : document.sections) titles += section.title + "|";
  return titles;
}

TEST(ResultsDocument, TheFastestOfAProblemIsOneForEachNumberOfRanks) {
  const Results results = evaluate(
      {{run_line("a", 4), run_line("b", 2), run_line("a", 3, 2), run_line("a", 1, 4), run_line("b", 5, 4)}, {}}, false);
  std::string found;
  for (const Configuration* one : fastest(results))
    found += one->first.variant + std::to_string(one->first.ranks) + "|";
  EXPECT_EQ(found, "a4|b1|a2|") << "in the order of their times";
}

TEST(ResultsDocument, WhatTwoPartsMadeIsNoHeadlineFigure) {
  RunLine resumed = run_line("a", 1);
  resumed.parts = 2;
  const Results results = evaluate({{resumed}, {}}, false);
  EXPECT_TRUE(results.headline.empty());
  ASSERT_EQ(results.set_aside.size(), 1U);
  EXPECT_EQ(results.set_aside[0].set_aside, "stopped and continued: its times are sums over 2 parts");
}

TEST(ResultsDocument, WhatIsNotVerifiedReplacesOnlyWhatIsNotVerified) {
  RunLine later = run_line("a", 2);
  later.origin.commit = "def";
  later.status = "UNVERIFIED";
  const Results kept = evaluate({{run_line("a", 1), later}, {}}, false);
  EXPECT_EQ(kept.headline.size(), 1U);
  EXPECT_EQ(kept.superseded, 0U);
  RunLine earlier = run_line("a", 1);
  earlier.status = "UNVERIFIED";
  const Results replaced = evaluate({{earlier, later}, {}}, false);
  EXPECT_EQ(replaced.set_aside.size(), 1U);
  EXPECT_EQ(replaced.superseded, 1U);
}

TEST(ResultsDocument, FailuresSpreadToWhatSharedACheckOnly) {
  RunLine failed = run_line("a", 1);
  failed.status = "FAILED";
  failed.checks = {"list", "reference"};
  failed.against = "reference, though not against list";
  RunLine other_check = run_line("a", 3);
  other_check.checks = {"another list"};
  const Results results = evaluate({{run_line("a", 2), failed, other_check}, {}}, false);
  ASSERT_EQ(results.headline.size(), 1U);
  EXPECT_EQ(results.headline[0].infer.median, 3);
  ASSERT_EQ(results.set_aside.size(), 2U);
  for (const Configuration& one : results.set_aside) {
    EXPECT_EQ(one.set_aside, "wrong categories");
    EXPECT_EQ(one.first.against, "reference, though not against list");
  }
}

TEST(ResultsDocument, RunsOfOtherImagesAreApartThoughALineThatDoesNotSayFitsBoth) {
  RunLine official = run_line("a", 2);
  official.official_images = true;
  RunLine synthetic = run_line("a", 3);
  synthetic.official_images = false;
  const Results results = evaluate({{run_line("a", 1), official, synthetic}, {}}, false);
  ASSERT_EQ(results.headline.size(), 2U);
  EXPECT_EQ(results.headline[0].runs, 2U);
  EXPECT_EQ(results.headline[1].infer.median, 3);
}

TEST(ResultsDocument, ALaterBuildThatWasCheckedOtherwiseReplacesNothingUnlessItFailed) {
  RunLine later = run_line("a", 2);
  later.origin.commit = "def";
  later.checks = {"list", "reference"};
  EXPECT_EQ(evaluate({{run_line("a", 1), later}, {}}, false).headline.size(), 2U);
  later.status = "FAILED";
  const Results results = evaluate({{run_line("a", 1), later}, {}}, false);
  EXPECT_TRUE(results.headline.empty());
  EXPECT_EQ(results.superseded, 1U);
}

TEST(ResultsDocument, ALaterBuildOnOtherImagesReplacesNothing) {
  RunLine official = run_line("a", 1);
  official.official_images = true;
  RunLine synthetic = run_line("a", 2);
  synthetic.official_images = false;
  synthetic.origin.commit = "def";
  const Results results = evaluate({{official, synthetic}, {}}, false);
  EXPECT_EQ(results.headline.size(), 2U);
  EXPECT_EQ(results.superseded, 0U);
}

TEST(ResultsDocument, BarsOfPhasesHaveTheMedianOfTheTrials) {
  RunLine run = run_line("a", 2);
  run.infer.min = 1;
  run.infer.max = 5;
  run.phases = {{"read", 1}};
  const Document document = results_document({{run}, {}}, {.title = "T"});
  for (const Series& series : testing::block_of<Chart>(document, "phases-chart").series)
    EXPECT_EQ(series.points.at(0).y, series.name == "infer" ? 2000 : 1000) << series.name;
}

TEST(ResultsDocument, PhasesOfSeveralRunsAreMedians) {
  std::vector<RunLine> runs(3, run_line("a", 1));
  for (std::size_t i = 0; i < runs.size(); ++i) runs[i].phases = {{"read", static_cast<double>(9 - i * i)}};
  const Results results = evaluate({runs, {}}, false);
  ASSERT_EQ(results.headline.size(), 1U);
  EXPECT_EQ(results.headline[0].phase("read"), 8);
}

TEST(ResultsDocument, SpeedUpsAreOverTheSameMachineAndAsManyRanks) {
  RunLine elsewhere = run_line("base", 10);
  elsewhere.origin = machine("E");
  EXPECT_FALSE(sections::speed_ups(evaluate({{run_line("a", 1), elsewhere}, {}}, false), "base"));
  EXPECT_FALSE(sections::speed_ups(evaluate({{run_line("a", 1), run_line("base", 10, 2)}, {}}, false), "base"));
  const auto section =
      sections::speed_ups(evaluate({{run_line("a", 1), run_line("base", 10), elsewhere}, {}}, false), "base");
  ASSERT_TRUE(section);
  EXPECT_EQ(column(*find_block<Table>(*section, "speed-ups-table"), "speed-up"), Texts{"10.0"});
  RunLine slow = run_line("a", 30);
  slow.origin = elsewhere.origin;
  elsewhere.infer = {60, 60, 60, 0};
  const auto both =
      sections::speed_ups(evaluate({{run_line("a", 1), run_line("base", 10), slow, elsewhere}, {}}, false), "base");
  EXPECT_EQ(column(*find_block<Table>(both.value(), "speed-ups-table"), "speed-up"), (Texts{"10.0", "2.00"}));
}

/// Of problems of which variants were run, four are drawn: those of the most variants, in their order.
TEST(ResultsDocument, TheChartOfVariantsShowsTheFourProblemsOfTheMost) {
  const auto drawn = [](const std::vector<std::size_t>& variants) {
    std::vector<RunLine> runs;
    for (std::size_t i = 0; i < variants.size(); ++i)
      for (std::size_t variant = 0; variant < variants[i]; ++variant) {
        runs.push_back(run_line("v" + std::to_string(variant), static_cast<double>(variant + 1)));
        runs.back().layers = 100 + i;
      }
    const auto section = sections::variants(evaluate({runs, {}}, false));
    std::string text;
    for (const std::string& category : find_block<Chart>(section.value(), "variants-chart")->categories)
      text += category.substr(7, 3) + " ";
    return text;
  };
  EXPECT_EQ(drawn({2, 3, 1, 2}), "100 101 103 ");
  EXPECT_EQ(drawn({2, 3, 4, 2, 3, 2}), "100 101 102 104 ");
  EXPECT_EQ(drawn({2, 3, 4, 2, 3, 3}), "101 102 104 105 ");
  EXPECT_EQ(drawn({2, 2, 2, 2, 2}), "100 101 102 103 ");
}

/// A run with unknown images is compared with runs of any images; a run of the official images only with runs of these.
TEST(ResultsDocument, SpeedUpsAreOverRunsThatMayHaveTheSameImages) {
  RunLine official = run_line("base", 5);
  official.official_images = true;
  RunLine unsaid = run_line("base", 10);
  unsaid.precision = "fp16";
  RunLine synthetic = run_line("a", 1);
  synthetic.official_images = false;
  const auto section = sections::speed_ups(evaluate({{official, unsaid, synthetic}, {}}, false), "base");
  ASSERT_TRUE(section);
  EXPECT_EQ(column(*find_block<Table>(*section, "speed-ups-table"), "speed-up"), (Texts{"10.0", "0.500"}));
}

TEST(ResultsDocument, TheChartOfSpeedUpsShowsTheFastestOfAProblemAlone) {
  const auto section =
      sections::speed_ups(evaluate({{run_line("a", 1), run_line("b", 2), run_line("base", 10)}, {}}, false), "base");
  ASSERT_TRUE(section);
  EXPECT_EQ(column(*find_block<Table>(*section, "speed-ups-table"), "speed-up").size(), 2U);
  const Chart& chart = *find_block<Chart>(*section, "speed-ups-chart");
  ASSERT_EQ(chart.series[0].points.size(), 1U);
  EXPECT_EQ(chart.series[0].points[0].y, 10);
}

TEST(ResultsDocument, OtherSystemsStandBesideRunsOfTheirSizeOnNoMoreProcessors) {
  const auto rows = [](const RunLine& line) {
    const std::vector<Baseline> baselines{{.system = "S",
                                           .processor = "P",
                                           .count = 2,
                                           .neurons = 1024,
                                           .layers = 120,
                                           .images = 60000,
                                           .seconds = 4,
                                           .edges_per_second = {},
                                           .counted = "c",
                                           .measured = "published",
                                           .source = "s"}};
    const auto section = sections::others(evaluate({{line}, {}}, false), baselines);
    const Table* const table = find_block<Table>(*section, "against-others");
    return table == nullptr ? Texts{} : column(*table, "ratio of rates");
  };
  EXPECT_EQ(rows(run_line("a", 2)), Texts{"2.0"});
  EXPECT_EQ(rows(run_line("a", 1, 2)), Texts{"4.0"});
  EXPECT_EQ(rows(run_line("a", 1, 3)), Texts{});
  for (auto change : {+[](RunLine& line) { line.images = 59999; }, +[](RunLine& line) { line.layers = 121; },
                      +[](RunLine& line) { line.edges -= 1; }, +[](RunLine& line) { line.neurons = "1025"; }}) {
    RunLine other = run_line("a", 1);
    change(other);
    EXPECT_EQ(rows(other), Texts{});
  }
}

TEST(ResultsDocument, RatesOfOtherSystemsHaveTheUnitOfTheGreatest) {
  std::vector<Baseline> baselines(2);
  baselines[0].edges_per_second = 2e12;
  baselines[1].edges_per_second = 1e9;
  const auto section = sections::others(evaluate({}, false), baselines);
  EXPECT_EQ(find_block<Table>(*section, "others-table")->columns.at(7).unit, "TE/s");
}

TEST(ResultsDocument, EfficiencyIsOfTheWorkOfEachRankHoweverManyTheFirstRowHas) {
  const auto section =
      sections::scaling(evaluate({{run_line("a", 4, 2), run_line("a", 2, 4), run_line("a", 2, 8)}, {}}, false));
  ASSERT_TRUE(section);
  EXPECT_EQ(column(*find_block<Table>(*section, "scaling-table"), "efficiency of infer"),
            (Texts{"100.0", "100.0", "50.0"}));
  RunLine longer = run_line("a", 2, 4);
  longer.total = 4;
  const auto totals = sections::scaling(evaluate({{run_line("a", 4, 2), longer}, {}}, false));
  EXPECT_EQ(column(*find_block<Table>(*totals, "scaling-table"), "efficiency of total"), (Texts{"100.0", "25.0"}));
  EXPECT_EQ(column(*find_block<Table>(*totals, "scaling-table"), "efficiency of infer"), (Texts{"100.0", "100.0"}));
}

TEST(ResultsDocument, RunsOfOtherBuildsAreNoPointsOfOneSeries) {
  RunLine other = run_line("a", 2, 4);
  other.origin.commit = "def";
  EXPECT_FALSE(sections::scaling(evaluate({{run_line("a", 4, 2), other}, {}}, false)));
}

TEST(ResultsDocument, BuildsOfOneMachineAreNoOtherMachines) {
  RunLine changed = run_line("b", 2);
  changed.origin.dirty = true;
  RunLine later = run_line("c", 2);
  later.origin = machine("D", "def");
  const Document document = results_document({{run_line("a", 1), changed, later}, {}}, {.title = "T"});
  EXPECT_NE(document.summary.find("made on 1 kind of machine by 3 combinations of machine and build"),
            std::string::npos)
      << document.summary;
}

TEST(ResultsDocument, ColumnsOfNumbersAreAlignedRight) {
  const Document document = results_document({{run_line("a", 1)}, {}}, {.title = "T"});
  std::string right;
  std::string left;
  for (const Column& column : find_block<Table>(document, "submission")->columns)
    (column.number ? right : left) += column.title + "|";
  EXPECT_EQ(right,
            "neurons|layers|infer|rate|count|bias|inputs|edges|min|max|computed|with set-up|end to end|categories|read|"
            "read rate|trials|runs|run on|");
  EXPECT_EQ(left, "variant|verdict|processor|passes|setting|");
}

TEST(ResultsDocument, RatesBelowATeraAreInGiga) {
  const auto unit_of_table = [](double seconds) {
    const Document document = results_document({{run_line("a", seconds)}, {}}, {.title = "T"});
    for (const Column& column : find_block<Table>(document, "submission")->columns)
      if (column.title == "rate") return column.unit + "; " + document.summary;
    return std::string();
  };
  EXPECT_EQ(unit_of_table(0.2).find("TE/s; "), 0U);
  EXPECT_NE(unit_of_table(0.2).find(" 1.180 TE/s ("), std::string::npos) << unit_of_table(0.2);
  EXPECT_EQ(unit_of_table(2).find("GE/s; "), 0U);
  EXPECT_NE(unit_of_table(2).find(" 118.0 GE/s ("), std::string::npos) << unit_of_table(2);
}

TEST(ResultsDocument, AReportOfModelsAloneSpeaksOfModelsAlone) {
  ModelLine unverified = model_run("b.onnx", 2);
  unverified.status = "UNVERIFIED";
  unverified.accuracy = 0.5;
  unverified.largest_ratio = 0.25;
  const Document document = results_document({{}, {}, {model_run("a.onnx", 0.5), unverified}}, {.title = "T"});
  EXPECT_EQ(
      document.summary,
      "2 runs of models by `spdnn infer --model`, made on 1 kind of machine by 1 combination of machine and build. Of "
      "the runs of models 1 is verified.");
  EXPECT_EQ(titles_of(document), "Machines and builds|Models|Definitions|");
  const Table& table = *find_block<Table>(document, "models-table");
  EXPECT_EQ(column(table, "model"), (Texts{"a.onnx", "b.onnx"}));
  EXPECT_EQ(column(table, "verdict"), (Texts{"PASSED", "UNVERIFIED"}));
  EXPECT_EQ(column(table, "rate"), (Texts{"16.00", "4.000"}));
  EXPECT_EQ(column(table, "zeros"), (Texts{"90.0", "90.0"}));
  EXPECT_EQ(column(table, "dense"), (Texts{"7.000", "7.000"}));
  EXPECT_EQ(column(table, "sparse"), (Texts{"2.000", "2.000"}));
  EXPECT_EQ(column(table, "accuracy"), (Texts{"", "50.0"}));
  EXPECT_EQ(column(table, "of the bound"), (Texts{"", "25.0"}));
  EXPECT_EQ(column(table, "run on"), (Texts{"1", "1"}));
  EXPECT_FALSE(table.rows[0].apart);
  EXPECT_TRUE(table.rows[1].apart);
  EXPECT_EQ(column(*find_block<Table>(document, "machines-table"), "lines"), Texts{"2"});
  const Chart& chart = *find_block<Chart>(document, "models-chart");
  ASSERT_EQ(chart.series.size(), 2U);
  EXPECT_EQ(chart.series[0].points[0].y, 16);
  EXPECT_EQ(chart.series[1].points[0].x, 1);
  EXPECT_EQ(find_block<Chart>(document, "rates"), nullptr);
  // The text explains `dense`, `sparse` and the bound, and does not mention categories.
  std::string definitions;
  for (const auto& block : document.sections.back().blocks) definitions += std::get<Paragraph>(block).text;
  for (const char* word : {"`dense`", "`sparse`", "`of the bound`"})
    EXPECT_NE(definitions.find(word), std::string::npos);
  EXPECT_EQ(definitions.find("categories"), std::string::npos);
}

TEST(ResultsDocument, RatesOfModelsMoreThanThirtyTimesApartAreOnALogarithmicAxis) {
  const auto logarithmic = [](double factor) {
    const Document document =
        results_document({{}, {}, {model_run("a.onnx", 1), model_run("b.onnx", factor)}}, {.title = "T"});
    const Chart& chart = *find_block<Chart>(document, "models-chart");
    EXPECT_EQ(chart.description.find("logarithmic") != std::string::npos, chart.x.logarithmic);
    return chart.x.logarithmic;
  };
  EXPECT_FALSE(logarithmic(29.5));
  EXPECT_TRUE(logarithmic(30.5));
}

TEST(ResultsDocument, ImagesWithoutANonZeroCountInNoRate) {
  RunLine half_empty = run_line("a", 1);
  half_empty.empty_images = half_empty.images / 2;
  const Document document = results_document({{half_empty, run_line("b", 1)}, {}}, {.title = "T"});
  EXPECT_EQ(column(*find_block<Table>(document, "submission"), "rate"), (Texts{"118.0", "235.9"}));
}

TEST(ResultsDocument, ARunWhoseReadingTookNoTimeHasNoReadRate) {
  RunLine read = run_line("a", 1);
  read.phases = {{"read", 2}};
  const Document document = results_document({{read, run_line("b", 2)}, {}}, {.title = "T"});
  EXPECT_EQ(column(*find_block<Table>(document, "submission"), "read rate"), (Texts{"0.001966", ""}));
}

TEST(ResultsDocument, RunsOfModelsLeadToTheirMachines) {
  ModelLine elsewhere = model_run("a.onnx", 1);
  elsewhere.origin = machine("E");
  const Document document = results_document({{}, {}, {model_run("a.onnx", 1), elsewhere}}, {.title = "T"});
  EXPECT_EQ(column(*find_block<Table>(document, "models-table"), "run on"), (Texts{"1", "2"}));
  EXPECT_EQ(column(*find_block<Table>(document, "machines-table"), "device"), (Texts{"none", "E"}));
  EXPECT_EQ(find_block<Chart>(document, "models-chart")->categories[1], "a.onnx, conv_dense, batches of 4 [2]");
}

TEST(ResultsDocument, FailedRunsOfModelsAreInNoChart) {
  ModelLine failed = model_run("a.onnx", 1);
  failed.status = "FAILED";
  const Document document = results_document({{}, {}, {failed, model_run("b.onnx", 1)}}, {.title = "T"});
  EXPECT_EQ(find_block<Chart>(document, "models-chart")->categories, Texts{"b.onnx, conv_dense, batches of 4"});
  EXPECT_EQ(find_block<Table>(document, "models-table")->rows.size(), 2U);
}

TEST(ResultsDocument, AProfileIsShownNodeByNode) {
  ModelLine line = model_run("a.onnx", 1);
  for (int node = 1; node <= 30; ++node) line.profile.push_back({"", "relu", node == 7 ? 0 : 0.001});
  line.profile[2] = {"conv1", "convolution", 0.028};
  const Document document = results_document({{}, {}, {line}}, {.title = "T"});
  const Table& table = *find_block<Table>(document, "profile-1");
  EXPECT_EQ(table.rows.size(), 30U);
  EXPECT_EQ(column(table, "time")[2], "28.00");
  EXPECT_EQ(column(table, "share")[2], "50.0");
  EXPECT_EQ(column(table, "name")[2], "conv1");
  const Chart& chart = *find_block<Chart>(document, "profile-1-chart");
  ASSERT_EQ(chart.categories.size(), 25U);
  EXPECT_EQ(chart.categories[2], "3 convolution, conv1");
  EXPECT_EQ(chart.series[0].points[2].y, 28);
  EXPECT_EQ(chart.categories[6], "8 relu") << "the fastest nodes have no bar";
  EXPECT_NE(chart.description.find("the 25 nodes that take the most time, in the model's order; 92.9 % of the time of "
                                   "all 30."),
            std::string::npos)
      << chart.description;
}

TEST(ResultsDocument, MeasurementsOfALayerAreReplacedByLaterOnesInTheSamePrecisionAlone) {
  LayerLine later = layer_line("a", 1e9);
  later.seconds = {2, 2, 2, 0};
  LayerLine fp16 = layer_line("a", 1e9);
  fp16.precision = "fp16";
  const Document document = results_document({{}, {layer_line("a", 1e9), fp16, later}}, {.title = "T"});
  const Table& table = *find_block<Table>(document, "layers-table");
  EXPECT_EQ(column(table, "variant"), (Texts{"a fp16", "a"}));
  EXPECT_EQ(column(table, "a layer"), (Texts{"1000", "2000"}));
  LayerLine elsewhere = later;
  elsewhere.origin = machine("E");
  const Document both = results_document({{}, {layer_line("a", 1e9), elsewhere}}, {.title = "T"});
  EXPECT_EQ(column(*find_block<Table>(both, "layers-table"), "run on"), (Texts{"1", "2"}));
}

TEST(ResultsDocument, MeasurementsOfALayerByEarlierBuildsAreShownWhereAllAreWanted) {
  LayerLine later = layer_line("a", 1e9);
  later.origin = machine("", "def");
  LayerLine again = later;
  again.seconds = {4, 4, 4, 0};
  const ResultLines lines{{}, {layer_line("a", 1e9), later, again}};
  const auto runs_on = [&](bool all) {
    const Results results = evaluate(lines, all);
    std::string text = std::to_string(results.superseded) + ":";
    for (const auto& [line, place] : results.layers) text += fmt::format(" {} {}", line.seconds.median, place);
    return text;
  };
  EXPECT_EQ(runs_on(false), "2: 4 1");
  EXPECT_EQ(runs_on(true), "1: 1 0 4 1");
  const auto summary = [&](bool all) { return results_document(lines, {.title = "T", .all = all}).summary; };
  EXPECT_NE(summary(false).find(" 2 lines are from earlier builds, replaced"), std::string::npos) << summary(false);
  EXPECT_EQ(summary(true).find("replaced"), std::string::npos) << summary(true);
}

TEST(ResultsDocument, LayersAreInTheOrderOfTheirSizesTheMostImagesFirst) {
  const auto layer = [](std::uint64_t neurons, std::uint64_t degree, const char* weights, std::uint64_t images,
                        double seconds) {
    LayerLine line = layer_line("a", 1e9);
    line.neurons = neurons;
    line.degree = degree;
    line.weights = weights;
    line.images = images;
    line.seconds = {seconds, seconds, seconds, 0};
    line.precision = seconds > 1 ? "fp16" : "fp32";
    return line;
  };
  const Results results = evaluate({{},
                                    {layer(2, 1, "a", 1, 1), layer(1, 2, "a", 9, 1), layer(1, 1, "b", 5, 1),
                                     layer(1, 1, "a", 5, 1), layer(1, 1, "a", 7, 2), layer(1, 1, "a", 7, 1)}},
                                   false);
  std::string found;
  for (const auto& [line, place] : results.layers)
    found += fmt::format("{} {} {} {} {}|", line.neurons, line.degree, line.weights, line.images, line.seconds.median);
  EXPECT_EQ(found, "1 1 a 7 1|1 1 a 7 2|1 1 a 5 1|1 1 b 5 1|1 2 a 9 1|2 1 a 1 1|");
}

TEST(ResultsDocument, ConvolutionsAreByTheBuildThatTimedThem) {
  ConvLine line{.table = "t",
                .layer = "l",
                .variant = "sparse",
                .kernel = "k",
                .batch = 1,
                .kept = 0.5,
                .median = 1,
                .origin = {}};
  line.with.push_back({"k", "oneDNN in fp32", 1, {1, 1, 1, 0}});
  line.origin = machine("", "abc");
  ConvLine fewer = line;
  fewer.kept = 0.25;
  fewer.sparsity = 0.75;
  ConvLine later = line;
  later.origin.commit = "def";
  ConvLine later_fewer = fewer;
  later_fewer.origin.commit = "def";
  const Document document =
      results_document({.runs = {}, .layers = {}, .convolutions = {line, fewer, later, later_fewer}}, {.title = "T"});
  EXPECT_EQ(column(*find_block<Table>(document, "conv-means"), "run on"), (Texts{"1", "1", "2", "2"}));
  EXPECT_EQ(column(*find_block<Table>(document, "conv-break-even"), "run on"), (Texts{"1", "2"}));
  EXPECT_EQ(column(*find_block<Table>(document, "conv-times"), "run on"), (Texts{"1", "1", "2", "2"}));
}

TEST(ResultsDocument, APhaseThatALineDoesNotHaveIsNotZero) {
  RunLine read = run_line("a", 1);
  read.phases = {{"read", 1}};
  RunLine plan = run_line("b", 2);
  plan.phases = {{"plan", 3}};
  const Document document = results_document({{read, plan}, {}}, {.title = "T"});
  const Table& table = *find_block<Table>(document, "phases-table");
  EXPECT_EQ(column(table, "read"), (Texts{"1000", ""}));
  EXPECT_EQ(column(table, "plan"), (Texts{"", "3000"}));
}

TEST(ResultsDocument, OneRankIsPraisedBeforeSeveralAndThenTheHighestRate) {
  const auto praised = [](const std::vector<RunLine>& runs) {
    const std::string summary = results_document({runs, {}}, {.title = "T"}).summary;
    const std::size_t at = summary.find("on ");
    EXPECT_EQ(summary.find("set aside"), std::string::npos) << summary;
    return summary.substr(summary.find(" rate on ") + 9, at == std::string::npos ? 0 : 6) +
           summary.substr(summary.find("infer "), 10);
  };
  EXPECT_EQ(praised({run_line("a", 4, 2), run_line("b", 8), run_line("c", 1, 4), run_line("d", 6)}),
            "1 rankinfer 6000");
  EXPECT_EQ(praised({run_line("a", 4, 2), run_line("c", 1, 4)}), "4 rankinfer 1000");
}

TEST(ResultsDocument, TeraBeginsWithOne) {
  EXPECT_STREQ(sections::unit_of(1e12).name, "TE/s");
  EXPECT_STREQ(sections::unit_of(0.999e12).name, "GE/s");
  EXPECT_EQ(sections::unit_of(0.999e12).cell(5e10).text, "50.00");
}

TEST(ResultsDocument, LessThanFp32IsSetBesideFp32AndFp64IsNot) {
  LayerLine fp16 = layer_line("a", 1e9);
  fp16.precision = "fp16";
  LayerLine fp64 = layer_line("a", 1e9);
  fp64.precision = "fp64";
  EXPECT_EQ(
      find_block<Table>(results_document({{}, {layer_line("a", 1e9), fp64}}, {.title = "T"}), "cross-overs-table"),
      nullptr);
  const Document document = results_document({{}, {layer_line("a", 1e9), fp64, fp16}}, {.title = "T"});
  EXPECT_EQ(column(*find_block<Table>(document, "cross-overs-table"), "below fp32"), Texts{"a fp16"});
  LayerLine elsewhere[] = {layer_line("a", 1e9), fp16};
  for (LayerLine& line : elsewhere) line.origin = machine("E");
  const Document both =
      results_document({{}, {layer_line("a", 1e9), fp16, elsewhere[0], elsewhere[1]}}, {.title = "T"});
  EXPECT_EQ(column(*find_block<Table>(both, "cross-overs-table"), "run on"), (Texts{"1", "2"}));
}

TEST(ResultsDocument, WithoutRunsOfNetworksNothingIsSaidOfThem) {
  const Document document = results_document({{}, {layer_line("a", 1e9)}}, {.title = "T"});
  EXPECT_EQ(titles_of(document), "Machines and builds|Single layers|");
  EXPECT_EQ(document.summary,
            "1 measurement of `spdnn bench layers`, made on 1 kind of machine by 1 combination of machine and build.");
}

TEST(ResultsDocument, ARooflineNamesTheFastestVariantsAlone) {
  std::vector<LayerLine> layers;
  for (int i = 0; i < 9; ++i) layers.push_back(layer_line("v" + std::to_string(i), 1e12 + i * 1e11));
  const Document document = results_document({{}, layers}, {.title = "T"});
  const Chart& chart = *find_block<Chart>(document, "roofline");
  std::string names;
  for (const Series& series : chart.series) names += series.name + " " + std::to_string(series.points.size()) + "|";
  EXPECT_EQ(names, "roof: copy on C, 1.00 GB/s 2|v8 1|v7 1|v6 1|v5 1|v4 1|others 4|");
  EXPECT_EQ(chart.series.back().points[0].label.find("v0, 1024 neurons"), 0U) << chart.series.back().points[0].label;
  const std::vector<Point>& roof = chart.series.front().points;
  EXPECT_DOUBLE_EQ(roof.at(0).x, chart.series.back().points[0].x / 1.5) << "v0 is the slowest";
  EXPECT_DOUBLE_EQ(roof.at(1).x, chart.series[1].points[0].x * 1.5) << "v8 is the fastest";
}

/// Lines with points for every chart.
ResultLines lines_for_charts() {
  ResultLines lines{{run_line("a", 2), run_line("a", 0.5, 4), run_line("base", 10)}, {layer_line("a", 2e12)}};
  lines.runs[0].phases = {{"read", 1}, {"plan", 0.25}, {"start", 3}, {"other", 0}};
  lines.runs[0].alive = {100, 100, 50, 7};
  lines.runs[0].computed_edges = 1e12;
  lines.runs[1].total = 1;
  lines.runs[2].passes = "all";
  LayerLine half = layer_line("a", 1e12);
  half.precision = "fp16";
  half.ceiling = 2e9;
  half.origin = machine("D");
  lines.layers.push_back(half);
  lines.models = {model_run("a.onnx", 1), model_run("b.onnx", 50)};
  lines.models[1].profile = {{"n", "relu", 1}, {"", "pool", 3}};
  return lines;
}

TEST(ResultsDocument, ChartsHaveThePointsOfTheirLines) {
  const Document document = results_document(lines_for_charts(), {.title = "T", .baseline_variant = "base"});
  EXPECT_EQ(testing::charts_of(document), R"(rates: bars of GE/s: 1e9 edges per second (log)
  0 1024 x 120 with 3932160 edges, bias -0.3, a on 4 ranks [1]
  1 1024 x 120 with 3932160 edges, bias -0.3, a [1]
  rate (as given / infer): 0 471.9; 1 118;
  computed / infer: 1 500;
speed-ups-chart: bars of times as fast (log)
  0 1024 x 120 with 3932160 edges, bias -0.3, a [1]
  speed-up: 0 5;
scaling-chart: lines of ranks (log) by GE/s: 1e9 edges per second (log)
  1024 x 120 with 3932160 edges, bias -0.3, a: 1 118; 4 471.9;
phases-chart: stacked bars of ms
  0 1024 x 120 with 3932160 edges, bias -0.3, a on 4 ranks [1]
  1 1024 x 120 with 3932160 edges, bias -0.3, a [1]
  read: 0 0; 1 1000;
  plan: 0 0; 1 250;
  infer: 0 500; 1 2000;
alive-chart: lines of after layer (log) by images with a non-zero (log)
  1024 neurons, bias -0.3: 1 100; 2 100; 3 50; 4 7;
roofline: lines of edges per byte of minimum traffic (log) by TE/s: 1e12 edges per second (log)
  roof: copy on C, 1.00 GB/s, no marks: 666.7 0.6667; 3000 3;
  roof: copy on D, 2.00 GB/s, no marks: 666.7 1.333; 3000 6;
  a, no line: 2000 2 1024 neurons, degree 32, constant weights, 10 images;
  a fp16, no line: 1000 1 1024 neurons, degree 32, constant weights, 10 images;
models-chart: bars of images per second (log)
  0 a.onnx, conv_dense, batches of 4 [2]
  1 b.onnx, conv_dense, batches of 4 [2]
  PASSED: 0 8; 1 0.16;
profile-1-chart: bars of ms
  0 1 relu, n
  1 2 pool
  time: 0 1000; 1 3000;
)");
}

TEST(ResultsDocument, TablesHaveTheirColumns) {
  ResultLines lines = lines_for_charts();
  lines.runs[0].device_state = LineDeviceState{};
  lines.runs.push_back(run_line("later", 3));
  lines.runs.back().status = "UNVERIFIED";
  lines.layers.back().origin = machine("");
  std::vector<Baseline> baselines(1);
  baselines[0].seconds = 1;
  const Document document = results_document(lines, {.title = "T", .baseline_variant = "base", .baselines = baselines});
  EXPECT_EQ(
      testing::columns_of(document),
      R"(submission of 3: neurons #; layers #; variant; infer, ms #; rate, GE/s #; verdict; processor; count #; passes; bias #; inputs #; edges #; min, ms #; max, ms #; computed, GE/s #; with set-up, GE/s #; end to end, GE/s #; categories #; read, ms #; read rate, GE/s #; setting; trials #; runs #; run on #;
machines-table of 2: run on #; host; device; driver; CUDA; processor; threads #; version; commit; changes; lines #;
speed-ups-table of 1: neurons #; layers #; variant; passes; infer, ms #; baseline's passes; baseline's infer, ms #; speed-up #; run on #; baseline run on #;
others-table of 1: neurons #; layers #; system; processor; count #; inputs #; time, ms #; rate, GE/s #; counted; measured; source;
scaling-table of 2: neurons #; layers #; inputs #; variant; passes; kind; ranks #; infer, ms #; efficiency of infer, % #; rate, GE/s #; total, ms #; efficiency of total, % #; verdict; run on #;
phases-table of 3: neurons #; layers #; variant; passes; infer, ms #; read, ms #; plan, ms #; start, ms #; other, ms #; total, ms #; trials #; run on #;
alive-table of 3: after layer #; 1024 neurons, bias -0.3 #;
layers-table of 2: neurons #; degree #; weights; images #; variant; a layer, ms #; min, ms #; max, ms #; rate, TE/s #; traffic, MB #; edges per byte #; of ceiling, % #; trials #; run on #;
cross-overs-table of 1: neurons #; degree #; weights; images #; in fp32; fp32, ms #; below fp32; below, ms #; fp32 / below #; run on #;
models-table of 2: model; verdict; variant; images #; batch #; infer, ms #; rate, images/s #; zeros, % #; dense, GFLOP/s #; sparse, GFLOP/s #; accuracy, % #; of the bound, % #; run on #;
profile-1 of 2: node #; operation; name; time, ms #; share, % #;
device-table of 1: neurons #; layers #; variant; passes; SM clock, MHz #; memory clock, MHz #; temperature, degrees Celsius #; power, W #; energy of a trial, J #; run on #;
set-aside of 1: why; compared with; neurons #; layers #; variant; infer, ms #; rate, GE/s #; verdict; processor; count #; passes; bias #; inputs #; edges #; min, ms #; max, ms #; computed, GE/s #; with set-up, GE/s #; end to end, GE/s #; categories #; read, ms #; read rate, GE/s #; setting; trials #; runs #; run on #;
)");
}

TEST(ResultsDocument, APhaseOfSeveralRunsIsOneColumn) {
  ResultLines lines{{run_line("a", 2), run_line("b", 1)}, {}};
  lines.runs[0].phases = {{"read", 1}, {"plan", 2}};
  lines.runs[1].phases = {{"read", 3}, {"write", 4}};
  const std::string columns = testing::columns_of(results_document(lines, {.title = "T"}));
  EXPECT_NE(columns.find("; infer, ms #; read, ms #; write, ms #; plan, ms #; total, ms #;"), std::string::npos)
      << columns;
}

TEST(ResultsDocument, ChartsNameTheRanksWhereThereIsMoreThanOne) {
  const Document document = results_document({{run_line("a", 2), run_line("a", 1, 2)}, {}}, {.title = "T"});
  const auto* const chart = find_block<Chart>(document, "rates");
  ASSERT_NE(chart, nullptr);
  std::string names;
  for (const std::string& name : chart->categories) names += name.substr(name.find(", a")) + "|";
  EXPECT_EQ(names, ", a on 2 ranks|, a|");
}

TEST(ResultsDocument, ABaselineThatNoLineHasIsRefused) {
  EXPECT_THROW(results_document({{run_line("a", 1)}, {}}, {.title = "T", .baseline_variant = "b"}), UsageError);
  EXPECT_NO_THROW(results_document({{run_line("a", 1)}, {}}, {.title = "T", .baseline_variant = "a"}));
}

/// The line of a model's run of 8 images, PASSED, with these members.
std::string passed_line(const std::string& checks) {
  return R"({"schema":"spdnn-model-1","model":{"file":"m.onnx","weights":4,"nonzeros":2},"images":8,"variant":"v",)"
         R"("precision":"fp32","batch":8,"seconds":{"infer":{"min":2,"median":2,"max":2,"sum":2}},)"
         R"("images_per_second":4,"flops":{"dense":1,"sparse":1},"verdict":{"status":"PASSED"},)"
         R"("machine":{"cpu":"C","threads":1},"build":{"version":"0","commit":"abc","dirty":false},)" +
         checks + "}";
}

TEST(ResultLines, OfAFileStayInItsOrderAndItsFirstErrorIsReported) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += passed_line(R"("reference":null,"expected":null)") + '\n';
  for (std::size_t at = 0, i = 0; (at = text.find("m.onnx", at)) != std::string::npos; ++i)
    text.replace(at, 6, fmt::format("m{:04}", i));
  ResultLines lines;
  read_result_lines("lines", text, lines);
  ASSERT_EQ(lines.models.size(), 300U);
  for (std::size_t i = 0; i < 300; ++i) EXPECT_EQ(lines.models[i].model, fmt::format("m{:04}", i));
  for (const char* const damaged : {"m0299", "m0130", "m0129"}) text[text.find(damaged) - 1] = '\'';
  try {
    read_result_lines("lines", text, lines);
    FAIL() << "three damaged lines";
  } catch (const DataError& error) {
    EXPECT_EQ(std::string(error.what()).rfind("lines:130:", 0), 0U) << error.what();
  }
}

std::string verdict_read(const std::string& checks) {
  ResultLines lines;
  read_result_lines("lines", passed_line(checks), lines);
  return column(*find_block<Table>(results_document(lines, {.title = "T"}), "models-table"), "verdict").at(0);
}

TEST(ResultsDocument, AModelOfWhichASampleWasComparedIsNotVerifiedWhateverItsLineSays) {
  const std::string sample = R"("reference":{"images":1},"expected":)";
  EXPECT_EQ(verdict_read(sample + "null"), "UNVERIFIED: 1 of 8 images compared");
  EXPECT_EQ(verdict_read(sample + R"({"images":3},"accuracy":{"at_least":null})"),
            "UNVERIFIED: 3 of 8 images compared");
  EXPECT_EQ(verdict_read(sample + R"({"images":8})"), "PASSED");
  EXPECT_EQ(verdict_read(sample + R"(null,"accuracy":{"at_least":0.5})"), "PASSED");
  EXPECT_EQ(verdict_read(R"("reference":{"images":8},"expected":null)"), "PASSED");
}

TEST(ResultsDocument, ASampleIsTheSameCheckAsInLinesOfEarlierVersions) {
  const auto checks = [](const std::string& verdict) {
    const std::string text = R"({"verdict":{)" + verdict + "}}";
    return checks_of(JsonFields("line", text));
  };
  const Texts sample{"cpu_reference on 64 of 60000 images, a sample"};
  EXPECT_EQ(checks(R"("checks":["cpu_reference on 64 of 60000 images, a sample"])"), sample);
  EXPECT_EQ(checks(R"("checks":["cpu_reference on 64 of 60000 images"])"), sample);
  EXPECT_EQ(checks(R"("against":"cpu_reference on 64 of 60000 images")"), sample);
  EXPECT_EQ(checks(R"("checks":["cpu_reference on all images"])"), Texts{"cpu_reference on all images"});
}

}  // namespace
}  // namespace spdnn
