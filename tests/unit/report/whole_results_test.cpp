// A report on lines of every kind, compared with whole_results.txt: each paragraph, each chart with its points, and
// each cell of each table.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "data/official/constants.hpp"
#include "report/results_document.hpp"
#include "support/documents.hpp"
#include "support/whole.hpp"

namespace spdnn {
namespace {

const LineOrigin gpu_first{.host = "h1",
                           .cpu = "Xeon",
                           .device = "H100",
                           .driver = "550",
                           .cuda = "12.4",
                           .threads = 16,
                           .version = "1.0",
                           .commit = "aaa"};
const LineOrigin gpu_later = [] {
  LineOrigin later = gpu_first;
  later.version = "1.1";
  later.commit = "bbb";
  return later;
}();
const LineOrigin cpu_clean{.host = "h2",
                           .cpu = "EPYC",
                           .device = "",
                           .driver = "",
                           .cuda = "",
                           .threads = 64,
                           .version = "1.0",
                           .commit = "aaa"};

/// 1024 x 120 on official images, of which 103 are empty; `seconds` is the median of infer, and everything else has a
/// number of its own made of it.
RunLine official_run(const std::string& variant, const std::string& passes, double seconds, const LineOrigin& origin) {
  RunLine line;
  line.neurons = "1024";
  line.width = 1024;
  line.widths = {1024};
  line.layers = 120;
  line.images = kOfficialImages;
  line.empty_images = 103;
  line.edges = std::uint64_t{1024} * 120 * 32;
  line.bias = "-0.3";
  line.cap = "32";
  line.variant = variant;
  line.passes = passes;
  line.precision = "fp32";
  line.trials = 7;
  line.batch = kOfficialImages;
  line.official_images = true;
  line.infer = {seconds * 0.75, seconds, seconds * 1.5, 0};
  line.phases = {
      {"load", seconds * 2},   {"read", seconds * 3},         {"plan", seconds * 4}, {"start took", seconds * 5},
      {"upload", seconds * 6}, {"start waited", seconds * 7}, {"other", 0}};
  line.total = seconds * 30;
  line.computed_edges = line.work() / 8;
  line.rate_with_setup = line.work() / (seconds * 11);
  line.rate_end_to_end = line.work() / line.total;
  line.status = "PASSED";
  line.against = "the list";
  line.checks = {std::string(kOfficialTruth)};
  line.categories = 1812;
  line.alive.assign(120, 1812);
  line.alive[0] = 50000;
  line.alive[1] = 30000;
  line.active.assign(120, 7);
  line.origin = origin;
  return line;
}

/// 12-8-4 neurons in two layers, of a user's own: no official truth, fewer images, batches, streamed layers.
RunLine own_run(const std::string& variant, double seconds, const LineOrigin& origin) {
  RunLine line = official_run(variant, "none", seconds, origin);
  line.neurons = "12-8-4";
  line.width = 12;
  line.widths = {12, 8, 4};
  line.layers = 2;
  line.images = 500;
  line.empty_images = 0;
  line.edges = 90;
  line.bias = "0.5";
  line.cap = "none";
  line.batch = 100;
  line.streamed = true;
  line.official_images.reset();
  line.computed_edges.reset();
  line.checks = {"cpu_reference on all images"};
  line.categories = 40;
  line.alive = {300, 40};
  line.active = {};
  line.rate_end_to_end = line.work() / line.total;
  line.rate_with_setup = line.work() / (seconds * 11);
  return line;
}

RunLine over_ranks(RunLine line, int ranks, const std::string& scaling) {
  line.ranks = ranks;
  line.batch = line.images / static_cast<std::uint64_t>(ranks);
  line.scaling = scaling;
  return line;
}

std::vector<RunLine> network_lines() {
  std::vector<RunLine> runs{official_run("resident", "dead", 0.009, gpu_first),
                            official_run("resident", "dead", 0.004, gpu_later),
                            official_run("resident", "dead", 0.0052, gpu_later),
                            official_run("resident", "dead", 0.0048, gpu_later),
                            official_run("resident", "none", 0.002, gpu_later),
                            official_run("cascade", "twins,dead", 0.001, gpu_later),
                            official_run("cascade", "dead", 0.0032, gpu_later),
                            official_run("tiles", "dead", 0.25, cpu_clean),
                            over_ranks(official_run("cascade", "dead", 0.0018, gpu_later), 2, "strong"),
                            over_ranks(official_run("cascade", "dead", 0.0012, gpu_later), 4, "strong"),
                            own_run("tiles", 1e-6, cpu_clean),
                            own_run("reference", 8e-6, cpu_clean)};
  runs[2].infer.min = 0.0001;
  runs[3].infer.max = 0.5;
  RunLine halves = official_run("resident", "dead", 0.0035, gpu_later);
  halves.precision = "fp16";
  runs.push_back(halves);
  RunLine deep = official_run("cascade", "dead", 0.016, gpu_later);
  deep.layers = 480;
  deep.edges *= 4;
  deep.computed_edges.reset();
  deep.rate_with_setup.reset();
  deep.alive.assign(480, 1812);
  deep.alive[0] = 50000;
  deep.device_state =
      LineDeviceState{Spread{1400, 1500, 1600, 0}, Spread{2500, 2600, 2700, 0}, Spread{40, 45, 50, 0}, {}, 5.5};
  runs.push_back(deep);
  const auto weak = [](std::uint64_t images, int ranks, double seconds) {
    RunLine line = over_ranks(own_run("tiles", seconds, cpu_clean), ranks, "weak");
    line.images = images;
    line.categories = images / 10;
    line.alive = {images / 2, images / 10};
    line.origin.threads = 8 * static_cast<std::uint64_t>(ranks);
    return line;
  };
  runs.push_back(weak(1000, 2, 3e-6));
  runs.push_back(weak(4000, 8, 4e-6));
  RunLine wrong = official_run("broken", "dead", 0.03, cpu_clean);
  wrong.status = "FAILED";
  wrong.against = "the list, though";
  wrong.categories = 1811;
  RunLine unsure = own_run("reference", 5e-6, gpu_later);
  unsure.status = "UNVERIFIED";
  unsure.against = "nothing: no truth";
  unsure.checks.clear();
  RunLine changed = official_run("tiles", "none", 0.21, cpu_clean);
  changed.origin.dirty = true;
  RunLine unknown = official_run("tiles", "none", 0.22, cpu_clean);
  unknown.origin.commit = "unknown";
  RunLine parted = official_run("tiles", "none", 0.23, cpu_clean);
  parted.parts = 3;
  for (const RunLine& one : {wrong, unsure, changed, unknown, parted}) runs.push_back(one);
  return runs;
}

LayerLine of_layer(const std::string& variant, const std::string& precision, double seconds, std::uint64_t degree,
                   const LineOrigin& origin) {
  const double work = 1000.0 * 2048 * static_cast<double>(degree);
  return {.variant = variant,
          .precision = precision,
          .weights = "distinct",
          .neurons = 2048,
          .degree = degree,
          .layers = 8,
          .images = 1000,
          .trials = 9,
          .seconds = {seconds * 0.5, seconds, seconds * 3, 0},
          .edges_per_second = work / seconds,
          .bytes = 3e6 + work / 10,
          .ceiling = origin.device.empty() ? 2e11 : 3e12,
          .origin = origin};
}

ModelLine of_model(const std::string& file, const std::string& variant, const std::string& status, double seconds) {
  return {.model = file,
          .variant = variant,
          .precision = "fp32",
          .status = status,
          .images = 640,
          .batch = 64,
          .weights = 1000,
          .nonzeros = 125,
          .infer = {seconds * 0.5, seconds, seconds * 1.25, 0},
          .images_per_second = 640 / seconds,
          .dense = 9e9 / seconds,
          .sparse = 2e9 / seconds,
          .origin = cpu_clean};
}

std::vector<ModelLine> model_lines() {
  std::vector<ModelLine> runs{
      of_model("lenet.onnx", "conv_dense", "PASSED", 0.5), of_model("lenet.onnx", "conv_sparse", "PASSED", 0.125),
      of_model("vgg.onnx", "conv_sparse", "UNVERIFIED", 2), of_model("vgg.onnx", "conv_sparse", "FAILED", 3)};
  runs[0].accuracy = 0.975;
  runs[0].largest_ratio = 0.25;
  runs[1].largest_ratio = 0.0625;
  runs[1].precision = "bf16";
  runs[1].profile = {{"conv1", "convolution", 0.08}, {"relu1", "relu", 0.02}, {"fc", "linear", 0.025}};
  runs[2].sample = 100;
  runs[3].sample = 50;
  runs[3].origin = gpu_later;
  return runs;
}

std::vector<ModelBenchLine> times_of_models() {
  const auto times = [](double p50) {
    return ModelTimes{.runs = 11, .p50 = p50, .p90 = p50 * 2, .p99 = p50 * 3, .images_per_second = 4 / p50};
  };
  ModelBenchLine with{
      .model = "lenet.onnx",
      .variant = "conv_sparse",
      .precision = "fp32",
      .batch = 4,
      .times = times(0.004),
      .load = 0.375,
      .layers = {{"conv1", "convolution", 0.003}, {"fc", "linear", 0.001}},
      .with = TimedWith{.name = "onnxruntime 1.17", .times = times(0.006), .ratio = {0.5, 0.625, 0.75, 0}},
      .origin = cpu_clean};
  ModelBenchLine differs = with;
  differs.batch = 16;
  differs.with->agree = false;
  ModelBenchLine alone = with;
  alone.precision = "bf16";
  alone.with.reset();
  alone.origin = gpu_later;
  return {with, differs, alone};
}

std::vector<ConvLine> convolution_lines() {
  const auto line = [](const std::string& layer, double zeros, double ours, double theirs) {
    return ConvLine{.table = "resnet",
                    .layer = layer,
                    .variant = "conv_sparse",
                    .kernel = "sparse_avx512",
                    .batch = 2,
                    .runs = 21,
                    .sparsity = zeros,
                    .kept = 1 - zeros,
                    .multiply_adds = 4e8,
                    .bytes = 5e6,
                    .median = ours,
                    .load = 0.125,
                    .with = {{"onednn", "oneDNN in fp32", theirs, {ours / theirs, ours / theirs, ours / theirs, 0}}},
                    .origin = cpu_clean};
  };
  std::vector<ConvLine> lines{line("64x56", 0.5, 0.002, 0.001), line("64x56", 0.875, 0.0005, 0.001),
                              line("128x28", 0.5, 0.003, 0.0045), line("128x28", 0.875, 0.001, 0.004)};
  lines[1].with.push_back({"onednn", "oneDNN in bf16", 0.0004, {1.25, 1.25, 1.25, 0}});
  lines[1].published = ConvPublished{"A paper", "V100", {{"theirs", 0.0007}, {"cuDNN", 0.0009}}};
  lines[3].published = ConvPublished{"Another", "A100", {{"cuDNN", 0.0008}}};
  ConvLine alone = line("64x56", 0.875, 0.0006, 1);
  alone.with.clear();
  alone.input_sparsity = 0.25;
  alone.origin = gpu_later;
  lines.push_back(alone);
  ConvLine zeros_of_input = line("64x56", 0.5, 0.0008, 0.001);
  zeros_of_input.input_sparsity = 0.75;
  lines.push_back(zeros_of_input);
  for (const double zeros : {0.25, 0.625}) lines.push_back(line("256x14", zeros, 0.004, 0.003));
  return lines;
}

ResultLines lines_of_all_kinds() {
  return {
      .runs = network_lines(),
      .layers = {of_layer("resident", "fp32", 0.002, 32, gpu_first), of_layer("resident", "fp32", 0.001, 32, gpu_later),
                 of_layer("resident", "fp16", 0.0004, 32, gpu_later),
                 of_layer("cascade", "fp32", 0.0008, 32, gpu_later), of_layer("cascade", "tf32", 0.0005, 32, gpu_later),
                 of_layer("cascade", "fp64", 0.0001, 32, gpu_later), of_layer("tiles", "fp32", 0.05, 64, cpu_clean)},
      .models = model_lines(),
      .model_benches = times_of_models(),
      .convolutions = convolution_lines()};
}

std::vector<Baseline> other_systems() {
  const Baseline whole{.system = "SYS1",
                       .processor = "V100",
                       .count = 1,
                       .neurons = 1024,
                       .layers = 120,
                       .images = kOfficialImages,
                       .seconds = 0.02,
                       .edges_per_second = {},
                       .counted = "infer",
                       .measured = "published",
                       .source = "a paper"};
  Baseline more = whole;
  more.system = "SYS2";
  more.count = 2;
  more.seconds.reset();
  more.edges_per_second = 9e13;
  more.measured = "run by us";
  Baseline none = whole;
  none.system = "SYS3";
  none.neurons = none.layers = none.images = 0;
  none.edges_per_second = 7e11;
  none.seconds.reset();
  return {whole, more, none};
}

/// The text, and the value that the table is sorted by where it is another number.
std::string words_of_cell(const Cell& cell) {
  if (!cell.value ||
      fmt::format("{:.3g}", std::strtod(cell.text.c_str(), nullptr)) == fmt::format("{:.3g}", *cell.value))
    return cell.text;
  return fmt::format("{} = {:.4g}", cell.text, *cell.value);
}

std::string whole_of(const Table& table) {
  std::string text = fmt::format("{}: {}\n", table.id, table.caption);
  for (const Column& column : table.columns)
    text += fmt::format("  {}{}{};", column.title, column.unit.empty() ? "" : ", " + column.unit,
                        column.number ? " #" : "");
  text += "\n";
  for (const Row& row : table.rows) {
    text += row.apart ? " !" : "  ";
    for (std::size_t i = 0; i < row.cells.size(); ++i) text += (i == 0 ? "" : " | ") + words_of_cell(row.cells[i]);
    text += "\n";
  }
  return text;
}

std::string whole_of(const Chart& chart) {
  return fmt::format("{} {}\n{}", chart.title, chart.description, testing::text_of(chart));
}

std::string whole_of(const Paragraph& paragraph) { return paragraph.text + "\n"; }

std::string whole_of(const Document& document) {
  std::string text = document.title + "\n" + document.summary + "\n";
  for (const Section& section : document.sections) {
    text += fmt::format("\n== {}: {}\n", section.id, section.title);
    if (section.id == "definitions") continue;
    for (const auto& block : section.blocks) text += std::visit([](const auto& one) { return whole_of(one); }, block);
  }
  return text;
}

/// None is verified. Runs on one and two ranks are one series; each on four ranks differs from them in one thing.
ResultLines nothing_verified() {
  const auto checked_by_none = [](int ranks, double seconds) {
    RunLine line = over_ranks(official_run("tiles", "dead", seconds, gpu_later), ranks, "strong");
    line.status = "UNVERIFIED";
    return line;
  };
  std::vector<RunLine> runs{checked_by_none(1, 0.5), checked_by_none(2, 0.25)};
  std::vector<RunLine> others(9, checked_by_none(4, 0.125));
  others[0].precision = "fp16";
  others[1].origin.device = "A100";
  others[2].origin.cpu = "another";
  others[3].origin.commit = "ccc";
  others[4].official_images = false;
  others[5].passes = "none";
  others[6].trials = 3;
  others[7].status = "FAILED";
  others[7].checks = {"cpu_reference on all images"};
  others[8].scaling = "weak";
  runs.insert(runs.end(), others.begin(), others.end());
  return {.runs = runs, .layers = {}};
}

TEST(WholeResults, HaveEachNumberInItsPlace) {
  const ResultLines lines = lines_of_all_kinds();
  std::string found = whole_of(
      results_document(lines, {.title = "Results", .baseline_variant = "resident", .baselines = other_systems()}));
  found += "\n" + whole_of(results_document(nothing_verified(), {.title = "Nothing verified"}));
  RunLine wrong = official_run("broken", "dead", 1, cpu_clean);
  wrong.status = "FAILED";
  found += "\n" + whole_of(results_document({{official_run("tiles", "dead", 1, cpu_clean), wrong}, {}},
                                            {.title = "One of each", .baseline_variant = "broken"}));
  found += "\n" + results_document(lines, {.title = "", .all = true}).summary + "\n";
  testing::expect_whole(__FILE__, "whole_results.txt", found);
}

/// More than a chart can show; models whose rate is not known are in no chart.
TEST(WholeResults, SayHowManyAreOmitted) {
  ResultLines lines;
  for (int i = 0; i < 10; ++i) {
    lines.runs.push_back(official_run("tiles", "dead", 1 + i, cpu_clean));
    lines.runs.back().bias = fmt::format("-0.{}", i);
  }
  lines.models.assign(50, model_lines()[1]);
  lines.models[3].images_per_second = 0;
  lines.model_benches.assign(45, times_of_models()[2]);
  std::string found;
  const Document document = results_document(lines, {.title = ""});
  for (const Section& section : document.sections)
    for (const auto& block : section.blocks) {
      if (const auto* one = std::get_if<Paragraph>(&block); one != nullptr && section.id != "definitions")
        found += one->text + "\n";
      if (const auto* one = std::get_if<Chart>(&block))
        found +=
            fmt::format("{}: {} of {}; {}\n", one->id, one->categories.size(), one->series.size(), one->description);
    }
  testing::expect_whole(__FILE__, "omitted_results.txt", found);
}

}  // namespace
}  // namespace spdnn
