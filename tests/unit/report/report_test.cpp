#include "spdnn/report.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "core/text/json_text.hpp"
#include "report/run_line.hpp"
#include "spdnn/model_report.hpp"
#include "support/printed_json.hpp"

namespace spdnn {
namespace {

Report timed_report() {
  Report report;
  report.neurons = {4, 4};
  report.images = 10;
  report.edges = 16;
  report.trials = 3;
  PhaseSeconds& seconds = report.seconds;
  seconds.load = 0.5;
  seconds.read = 1;
  seconds.plan = 2;
  seconds.start = {8, 4};
  seconds.upload = 8;
  seconds.upload_images = 5;
  seconds.warm_up = 0.25;
  seconds.infer = spread({16, 48, 32});
  seconds.gather = 64;
  seconds.write = 128;
  seconds.total = 320;
  return report;
}

/// The row of the text report that begins with `key`.
std::string row(const std::string& text, const std::string& key) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(key + " ")) return line;
  return {};
}

TEST(Report, PhasesAndTheRestMakeTheTotal) {
  const Report report = timed_report();
  EXPECT_EQ(report.seconds.infer.sum, 96);
  EXPECT_EQ(report.seconds.other(), 320 - 0.5 - 1 - 2 - 4 - 8 - 0.25 - 96 - 64 - 128);
  const auto seconds = parse_json(to_json(report))["seconds"];
  EXPECT_EQ(seconds["start"]["took"], 8);
  EXPECT_EQ(seconds["start"]["waited"], 4);
  EXPECT_EQ(seconds["infer"]["sum"], 96);
  double sum = seconds["start"]["waited"].get<double>() + seconds["infer"]["sum"].get<double>();
  for (const auto& [name, value] : seconds.items())
    if (value.is_number() && name != "total" && name != "upload_images") sum += value.get<double>();
  EXPECT_EQ(sum, seconds["total"]);
}

TEST(Report, ADeviceThatStartsInTimeIsToldOf) {
  Report report = timed_report();
  report.seconds.start = {8, 0};
  EXPECT_EQ(row(to_text(report), "device start-up"),
            "device start-up      0.000000 s  waiting time; it took 8.000000 s, in parallel with reading and planning");
  report.seconds.start = {};
  EXPECT_EQ(row(to_text(report), "device start-up"), "");
}

TEST(Report, AnInferenceThatTookNoTimeHasNoRate) {
  Report report = timed_report();
  report.computed_edges = 64;
  report.seconds = {};
  report.seconds.plan = 2;
  EXPECT_EQ(report.rate(), 0);
  EXPECT_EQ(report.rate_computed(), std::nullopt);
  EXPECT_EQ(report.rate_with_setup(), 10.0 * 16 / 2);
  EXPECT_EQ(report.rate_end_to_end(), 0);
  EXPECT_EQ(parse_json(to_json(report))["rate_computed"], nullptr);
  EXPECT_NE(row(to_text(report), "rate_computed").find("0 TE/s"), std::string::npos);
}

TEST(Report, SharingCountsAsSetUp) {
  Report report = timed_report();
  report.seconds.share = 22;
  EXPECT_EQ(report.rate_with_setup(), 10.0 * 16 / (2 + 22 + 8 + 32));
}

TEST(Report, TheWorstOutputIsFarthestFromItsBoundOrItsTolerance) {
  const auto worst = [](const std::vector<std::pair<double, double>>& outputs) {
    LogitCheck check;
    for (const auto& [ratio, excess] : outputs) {
      check.outputs.push_back({.name = std::to_string(check.outputs.size())});
      check.outputs.back().largest_ratio = ratio;
      check.outputs.back().largest_excess = excess;
    }
    return check.worst().name;
  };
  EXPECT_EQ(worst({{0.5, 0.25}, {0.125, 0.75}, {0.25, 0.5}}), "1");
  EXPECT_EQ(worst({{0.5, 0.25}, {0.875, 0.5}, {0.25, 0.75}}), "1");
  EXPECT_EQ(worst({{0.5, 0.25}, {0.25, 0.5}}), "0") << "the first of equal ones";
}

TEST(Report, CountsAndNotesAreShownUnderTheirNames) {
  Report report = timed_report();
  report.passes.merge = true;
  report.outcome.borderline = {1, 7, 8};
  report.outcome.overflow = {{2, 5}, {6, 3}};
  report.outcome.alive = {9, 8};
  report.outcome.active = {7, 0, -1};
  report.notes = {"saturated is not applied: there is no cap", "another"};
  const std::string text = to_text(report);
  EXPECT_NE(row(text, "run again").find("3 borderline images"), std::string::npos) << text;
  EXPECT_NE(row(text, "overflow").find("sums of 2 images exceeded fp32, from layer 4 on; first images 3 7;"),
            std::string::npos)
      << text;
  for (const std::string& note : report.notes) EXPECT_NE(text.find(note + '\n'), std::string::npos) << text;
  const auto json = parse_json(to_json(report));
  EXPECT_FALSE(json.contains("saturated") || json.contains("identical")) << "they differ from run to run";
  EXPECT_EQ(json["overflow"], (Json{{"images", 2}, {"layer", 4}, {"first_ids", Json::array({3, 7})}}));
  EXPECT_EQ(json["borderline"], 3);
  EXPECT_EQ(json["alive"], (std::vector<int>{9, 8}));
  EXPECT_EQ(json["active"], Json::array({7, 0, nullptr}));
  EXPECT_EQ(json["notes"], report.notes);
}

TEST(Report, RemarksOnTrialsThatLieFarApart) {
  Report report = timed_report();
  const auto remarks = [&](std::vector<double> seconds) {
    report.seconds.infer = spread(std::move(seconds));
    return to_text(report).find("the slowest trial took ") != std::string::npos;
  };
  EXPECT_FALSE(remarks({16, 48, 32}));
  EXPECT_FALSE(remarks({16})) << "one trial lies far from nothing";
  EXPECT_FALSE(remarks({0, 0})) << "a rank without images";
  EXPECT_TRUE(remarks({16, 20, 90}));
  EXPECT_NE(
      to_text(report).find("the slowest trial took 6 times as long as the fastest: other programs kept the machine "
                           "busy, or the first trial was cold; repeat the run on an idle machine"),
      std::string::npos)
      << to_text(report);
}

TEST(Report, TellsWhatIsKnownOfTheDevice) {
  Report report = timed_report();
  EXPECT_EQ(parse_json(to_json(report))["device_state"], nullptr);
  EXPECT_EQ(row(to_text(report), "device state"), "");
  report.device_state = DeviceState{spread({1980, 1755, 1965}), {}, spread({41}), spread({310.5, 420}), 12.5};
  EXPECT_EQ(row(to_text(report), "device state"),
            "device state     SM clock 1965 MHz (1755 to 1980), memory clock not available, temperature 41 C (41 to "
            "41), power "
            "365 W (310 to 420), 12.5 J per trial");
  const auto json = parse_json(to_json(report))["device_state"];
  EXPECT_EQ(json["sm_clock_mhz"], (Json{{"min", 1755.0}, {"median", 1965.0}, {"max", 1980.0}}));
  EXPECT_EQ(json["memory_clock_mhz"], nullptr);
  EXPECT_EQ(json["power_w"]["median"], 365.25);
  EXPECT_EQ(json["joules_per_trial"], 12.5);
}

TEST(Report, SaysWhetherTheComparedRunGaveTheSame) {
  for (const bool same : {true, false}) {
    Report report = timed_report();
    report.compared = ComparedRun{"cpu_openmp", {.dead = true}, spread({64}), same};
    const std::string text = to_text(report);
    EXPECT_NE(row(text, "compared with").find("2.00 times as long"), std::string::npos) << text;
    EXPECT_EQ(text.find("categories equal") != std::string::npos, same) << text;
    EXPECT_EQ(text.find("categories DIFFERENT") != std::string::npos, !same) << text;
    const auto compared = parse_json(to_json(report))["compared"];
    EXPECT_EQ(compared["same_categories"], same);
    EXPECT_EQ(compared["passes"], "dead");
    EXPECT_EQ(compared["rate"], 10.0 * 16 / 64);
  }
}

/// Ten images of which two are empty, 16 given edges; plan 2 s, upload 8 s, infer 32 s, in all 320 s.
TEST(Report, RatesAreOfTheEdgesAndTheSecondsThatTheyName) {
  Report report = timed_report();
  report.empty_images = 2;
  report.computed_edges = 64;
  EXPECT_EQ(report.rate(), 8.0 * 16 / 32);
  EXPECT_EQ(report.rate_computed(), 64.0 / 32);
  EXPECT_EQ(report.rate_with_setup(), 8.0 * 16 / (2 + 8 + 32));
  EXPECT_EQ(report.rate_end_to_end(), 8.0 * 16 / (320 - 0.25));
  const auto json = parse_json(to_json(report));
  EXPECT_EQ(json["rate_computed"], 2.0);
  EXPECT_EQ(json["rate_with_setup"], report.rate_with_setup());
  EXPECT_EQ(json["computed_edges"], 64.0);
  report.computed_edges.reset();
  EXPECT_EQ(parse_json(to_json(report))["rate_computed"], nullptr);
  EXPECT_NE(row(to_text(report), "rate_computed").find("not counted"), std::string::npos);
}

TEST(Report, RanksOfAResumedRunAreThoseOfItsLastPart) {
  Report report = timed_report();
  report.ranks =
      RankSpreads{.ranks = 2, .hosts = 1, .images = spread({5}), .upload = spread({1}), .infer = spread({2})};
  EXPECT_EQ(row(to_text(report), "ranks").find("ranks            2 on 1 host;"), 0U) << row(to_text(report), "ranks");
  EXPECT_NE(row(to_text(report), "ranks").find("; the slowest, rank 0, 1.00 times the median"), std::string::npos);
  EXPECT_NE(row(to_text(report), "ranks").find("; 5 to 5 images each; "), std::string::npos);
  EXPECT_EQ(parse_json(to_json(report))["ranks"]["deal"], "fixed");
  report.ranks->taken = spread({3, 6});
  EXPECT_NE(row(to_text(report), "ranks").find("; 5 to 5 images each, taken in 3 to 6 batches; "), std::string::npos);
  const auto json = parse_json(to_json(report))["ranks"];
  EXPECT_EQ(json["deal"], "counter");
  EXPECT_EQ(json["taken"]["max"], 6.0);
  report.parts = 3;
  EXPECT_EQ(row(to_text(report), "ranks").find("ranks            last part: 2 on 1 host;"), 0U);
  EXPECT_NE(row(to_text(report), "parts").find("phases below are sums over the parts"), std::string::npos);
}

/// A report with content for every line.
template <class AnyReport>
void fill_in_run(AnyReport& report) {
  report.variant = "v";
  report.why = "it is fast";
  report.precision = Precision::fp16;
  report.threads = 2;
  report.batch = 5;
  report.notes = {"a note", "another\nline"};
  report.seconds.join = 0.125;
  report.seconds.share = 0.0625;
  report.seconds.checkpoint = 0.03125;
  report.ranks = RankSpreads{
      .ranks = 2, .images = spread({4, 6}), .upload = spread({7, 8}), .infer = spread({16, 32}), .slowest = 1};
  report.device_state.emplace().sm_clock_mhz = spread({1000, 1200, 1300});
  report.device_state->joules_per_trial = 2.5;
}

Report full_report() {
  Report report = timed_report();
  fill_in_run(report);
  report.bias = "-0.5";
  report.edges = 16'000'000'000'000;
  report.empty_images = 2;
  report.stored_edges = 12;
  report.computed_edges = 64e12;
  report.passes.merge = true;
  report.parts = 2;
  report.checkpoints = CheckpointSummary{.every = 60, .written = 3, .bytes = 5000, .lost_parts = 1, .lost_seconds = 7};
  report.streamed = StreamedRun{3, 4000};
  report.images_read_by = "all ranks, each a part";
  report.outcome.borderline = {1};
  report.outcome.overflow = {{4, 2}, {6, 1}};
  report.verdict.status = Verdict::Status::failed;
  report.verdict.against = "a list";
  report.verdict.categories = 3;
  report.verdict.missing = 1;
  report.verdict.extra = 2;
  report.verdict.first_ids = {5, 9};
  report.compared = ComparedRun{"w", {}, spread({64, 64, 64}), false};
  report.against_fp32 = report.verdict;
  return report;
}

TEST(Report, AsTextHasEveryLine) {
  EXPECT_EQ(
      to_text(full_report()),
      R"(problem          4 neurons x 1 layer, 10 images (2 of them empty), 16000000000000 edges, bias -0.5, cap none
variant          v (fp16, 2 threads, 5 images per batch); it is fast
passes           merge (12 of 16000000000000 edges stored)
ranks            last part: 2 on 1 host; 4 to 6 images each; upload 7.000000 s to 8.000000 s (median 7.500000), infer 16.000000 s to 32.000000 s (median 24.000000); the slowest, rank 1, 1.33 times the median
images           read by all ranks, each a part
parts            2: stopped and continued; the phases below are sums over the parts
checkpoints      3 written during the run, every 60 s: 5.0 kB, 0.033 % of infer
lost             1 part ended without a stop; at most 7 s of work was done again
streamed         layers did not fit into host memory: 3 at a time, 4.0 kB read by upload and all trials
                 a note
                 another\x0aline
run again        1 borderline image
load                 0.500000 s
join                 0.125000 s  MPI's start-up
read                 1.000000 s
plan                 2.000000 s
device start-up      4.000000 s  waiting time; it took 8.000000 s, in parallel with reading and planning
share                0.062500 s  the plan to the other ranks
upload               8.000000 s  including 5.000000 s for images
warm-up              0.250000 s  uncounted trials
infer               32.000000 s  median of 3 (min 16.000000, max 48.000000), together 96.000000 s
checkpoint           0.031250 s  during the run
gather              64.000000 s
write              128.000000 s
other               16.031250 s
total              320.000000 s
rate             4 TE/s  (images x given edges / infer median)
rate_computed    2 TE/s  (computed edges / infer median)
rate_with_setup  3.043 TE/s  (images x given edges / (plan + share + upload + infer median))
rate_end_to_end  0.4003 TE/s  (images x given edges / (total - warm-up))
compared with    --reduce none by w: infer 64.000000 s, 2 TE/s; 2.00 times as long, categories DIFFERENT
device state     SM clock 1200 MHz (1000 to 1300), memory clock not available, temperature not available, power not available, 2.5 J per trial
precision        fp16 against fp32: 3 categories differ: 1 missing, 2 extra
overflow         sums of 2 images exceeded fp16, from layer 2 on; first images 5 7; another order of summation may give different categories
verdict          FAILED: 3 categories, missing 1, extra 2 (against a list); first wrong images 5 9
)");
}

TEST(Report, AsTextHasOnlyTheLinesThatSaySomething) {
  Report report = timed_report();
  report.seconds.warm_up = 0;
  report.seconds.start = {};
  EXPECT_EQ(to_text(report), R"(problem          4 neurons x 1 layer, 10 images, 16 edges, bias , cap none
variant           (fp32, 1 thread, 0 images per batch)
passes           none (0 of 16 edges stored)
load                 0.500000 s
read                 1.000000 s
plan                 2.000000 s
upload               8.000000 s  including 5.000000 s for images
infer               32.000000 s  median of 3 (min 16.000000, max 48.000000), together 96.000000 s
gather              64.000000 s
write              128.000000 s
other               20.500000 s
total              320.000000 s
rate             5e-12 TE/s  (images x given edges / infer median)
rate_computed    not counted by this engine under these passes
rate_with_setup  3.81e-12 TE/s  (images x given edges / (plan + share + upload + infer median))
rate_end_to_end  5e-13 TE/s  (images x given edges / total)
verdict          UNVERIFIED: 0 categories (against )
)");
}

ModelReport full_model_report() {
  ModelReport report;
  report.seconds = timed_report().seconds;
  report.trials = 3;
  fill_in_run(report);
  report.images = 8;
  report.available = 10;
  report.model = "m.onnx";
  report.input = {kBatchExtent, 3, 4};
  report.outputs = {
      {"y", {kBatchExtent, 2}, {{8, 2}, std::vector<float>{2, 1, 1, 2, 1, 2, 2, 1, 2, 1, 2, 1, 2, 1, 1, 2}}},
      {"z", {kBatchExtent}}};
  report.nodes = 3;
  report.weights = 100;
  report.nonzeros = 25;
  report.multiply_adds = {4e12, 1e12};
  report.multiply_adds_run = {4e12, 0.5e12};
  report.classes = 2;
  report.score = "logit";
  report.profile = {{"n", "relu", 1}, {"m", "pool", 3}};
  report.predictions = {0, 1, 1, 0, 0, 0, 0, 1};
  report.overflow = "node 1 (relu)";
  report.accuracy = Accuracy{.images = 8, .correct = 6, .classes = 2, .among = 7, .at_least = 0.7};
  report.expected = LogitCheck{
      .against = "a file",
      .images = 8,
      .outputs =
          {{.name = "y", .largest_ratio = 1.5, .largest_deviation = 0.5, .largest_bound = 0.25, .largest_excess = 3},
           {.name = "z", .largest_ratio = 0.5}},
      .outside = 1,
      .beyond = 2,
      .first_ids = {3, 4},
      .differing = 1,
      .near_ties = {{2, 1, 0}}};
  report.nodes_checked =
      NodeCheck{.images = 2, .nodes = 3, .largest_ratio = 0.5, .worst = "node 2", .largest_difference = 0.125};
  report.compared = ComparedModelRun{{"w", 1, 0.5}, spread({64, 64, 64})};
  report.against_fp32 = ModelDifference{"u", 2, 0.25};
  report.verdict = {Judgement::Status::failed, "a file"};
  return report;
}

TEST(Report, OfAModelAsTextHasEveryLine) {
  EXPECT_EQ(to_text(full_model_report()), R"(model            m.onnx: 3 nodes, 100 weights, 75.00 % of them zeros
images           8 (the first of 10); N x 3 x 4 to y N x 2, z N
variant          v (fp16, 2 threads, 5 images per batch); it is fast
rewrites         none
                 a note
                 another\x0aline
load                 0.500000 s
join                 0.125000 s  MPI's start-up
read                 1.000000 s
plan                 2.000000 s  the rewrites
device start-up      4.000000 s  waiting time; it took 8.000000 s, in parallel with reading and planning
share                0.062500 s  model and images to the other ranks
upload               8.000000 s
warm-up              0.250000 s  uncounted trials
infer               32.000000 s  median of 3 (min 16.000000, max 48.000000), together 96.000000 s
checkpoint           0.031250 s  during the run
gather              64.000000 s
write              128.000000 s
other               16.031250 s
total              320.000000 s
ranks            2 on 1 host; 4 to 6 images each; upload 7.000000 s to 8.000000 s (median 7.500000), infer 16.000000 s to 32.000000 s (median 24.000000); the slowest, rank 1, 1.33 times the median
profile               seconds    share  operation        node
                     1.000000 s  25.00 % relu             n
                     3.000000 s  75.00 % pool             m
rate             0.25 images/s  (images / infer median)
dense            2000 GFLOP/s  (2 x 4e+12 multiply-adds of all weights, zeros too, of the model as given x images / infer median)
sparse           500 GFLOP/s  (2 x 1e+12 multiply-adds of weights that are not zero of the model as given x images / infer median; the rewrites left 5e+11)
overflow         numbers may have exceeded fp32 from node 1 (relu) on; another order of summation may give different outputs
answers          image 1: class 0, logit 2; class 1, logit 1
                 image 2: class 1, logit 2; class 0, logit 1
                 image 3: class 1, logit 2; class 0, logit 1
                 image 4: class 0, logit 2; class 1, logit 1
                 image 5: class 0, logit 2; class 1, logit 1
                 image 6: class 0, logit 2; class 1, logit 1
                 image 7: class 0, logit 2; class 1, logit 1
                 image 8: class 1, logit 2; class 0, logit 1
accuracy         75.00 % (6 of 8); 87.50 % in the top 2
compared with    --rewrite none by w: infer 64.000000 s; 2.00 times as long, 1 of 8 predictions differ, outputs by at most 0.5
device state     SM clock 1200 MHz (1000 to 1300), memory clock not available, temperature not available, power not available, 2.5 J per trial
precision        fp16 against fp32 by u: 2 of 8 predictions differ, outputs by at most 0.25
expected         a file: 2 outputs; 1 image is outside the bound, first 3 4; 2 images are within it, but off by up to 3 times the tolerance, first 3 4; 1 prediction differs, 1 of them near ties
                 y: largest deviation 1.5 of the bound, 0.5 absolute with bounds of at most 0.25
                 z: largest deviation 0.5 of the bound, 0 absolute with bounds of at most 0
near tie         image 3: class 1, expected 0; rounding decides between them
nodes            each of 3 against fp64 of its own inputs, 2 images: largest deviation 0.5 of the bound, at node 2; its outputs differ from the run's by at most 0.125
verdict          FAILED (against a file)
)");
}

TEST(Report, NumbersOfAModelExceedTheTypeOfItsSums) {
  ModelReport report = full_model_report();
  for (const auto& [precision, type] : {std::pair(Precision::fp16_sums, "fp16"), std::pair(Precision::fp16, "fp32"),
                                        std::pair(Precision::bf16, "fp32"), std::pair(Precision::fp32, "fp32")}) {
    report.precision = precision;
    EXPECT_NE(row(to_text(report), "overflow").find(std::string("may have exceeded ") + type + " from "),
              std::string::npos);
  }
}

TEST(Report, OfANetworkIsReadBackAsItWasWritten) {
  Report report = full_report();
  report.cap = 32;
  report.machine = {"h", "C", "D", "550", "12.2"};
  report.outcome.alive = {7};
  report.outcome.active = {-1};
  report.verdict.checks = {"a list"};
  ResultLines lines;
  read_result_lines("f", to_json(report), lines);
  const RunLine& run = lines.runs.at(0);
  EXPECT_EQ(run.neurons, "4");
  EXPECT_EQ(run.width, 4U);
  EXPECT_EQ(run.widths, std::vector<std::uint64_t>{4});
  EXPECT_EQ(run.layers, 1U);
  EXPECT_EQ(run.images, 10U);
  EXPECT_EQ(run.empty_images, 2U);
  EXPECT_EQ(run.edges, report.edges);
  EXPECT_EQ(run.bias, "-0.5");
  EXPECT_EQ(run.cap, "32");
  EXPECT_EQ(run.variant, "v");
  EXPECT_EQ(run.passes, "merge");
  EXPECT_EQ(run.precision, "fp16");
  EXPECT_EQ(run.trials, 3);
  EXPECT_EQ(run.parts, 2);
  EXPECT_EQ(run.ranks, 2);
  EXPECT_EQ(run.batch, 5U);
  EXPECT_TRUE(run.streamed);
  EXPECT_FALSE(run.official_images);
  EXPECT_EQ(run.infer.median, 32);
  EXPECT_EQ(run.total, 320);
  std::string phases;
  for (const auto& [name, seconds] : run.phases) phases += fmt::format("{} {}|", name, seconds);
  EXPECT_EQ(phases,
            "load 0.5|join 0.125|read 1|plan 2|start took 8|start waited 4|share 0.0625|upload 8|upload_images 5|"
            "warm_up 0.25|checkpoint 0.03125|gather 64|write 128|other 16.03125|");
  EXPECT_EQ(run.computed_edges, report.computed_edges);
  EXPECT_EQ(run.rate_with_setup, report.rate_with_setup());
  EXPECT_EQ(run.rate_end_to_end, report.rate_end_to_end());
  EXPECT_EQ(run.status, "FAILED");
  EXPECT_EQ(run.against, "a list");
  EXPECT_EQ(run.checks, report.verdict.checks);
  EXPECT_EQ(run.categories, 3U);
  EXPECT_EQ(run.alive, std::vector<std::uint64_t>{7});
  EXPECT_EQ(run.active, std::vector<std::optional<std::uint64_t>>{std::nullopt});
  EXPECT_EQ(run.device_state->sm_clock_mhz->median, 1200);
  EXPECT_EQ(run.device_state->joules_per_trial, 2.5);
  EXPECT_EQ(run.origin.host + run.origin.cpu + run.origin.device + run.origin.driver + run.origin.cuda, "hCD55012.2");
  EXPECT_EQ(run.origin.threads, 4U);
}

TEST(Report, OfAModelIsReadBackAsItWasWritten) {
  ModelReport report = full_model_report();
  report.expected->images = 7;
  report.accuracy->at_least.reset();
  report.accuracy->classes = 1;
  EXPECT_EQ(to_text(report).find("in the top"), std::string::npos);
  report.accuracy->classes = 2;
  ResultLines lines;
  read_result_lines("f", to_json(report), lines);
  const ModelLine& run = lines.models.at(0);
  EXPECT_EQ(run.model, "m.onnx");
  EXPECT_EQ(run.variant, "v");
  EXPECT_EQ(run.precision, "fp16");
  EXPECT_EQ(run.status, "FAILED");
  EXPECT_EQ(run.images, 8U);
  EXPECT_EQ(run.batch, 5U);
  EXPECT_EQ(run.weights, 100U);
  EXPECT_EQ(run.nonzeros, 25U);
  EXPECT_EQ(run.infer.median, 32);
  EXPECT_EQ(run.images_per_second, 0.25);
  EXPECT_EQ(run.dense, 2e12);
  EXPECT_EQ(run.sparse, 5e11);
  EXPECT_EQ(run.accuracy, 0.75);
  EXPECT_EQ(run.largest_ratio, 1.5);
  EXPECT_EQ(run.sample, 7U);
  ASSERT_EQ(run.profile.size(), 2U);
  EXPECT_EQ(run.profile[1].name + run.profile[1].operation, "mpool");
  EXPECT_EQ(run.profile[1].seconds, 3);
}

TEST(Report, OfPartsHasTheSumOfEachPhase) {
  PhaseSeconds all;
  double number = 0;
  const auto next = [&] { return number += 2; };
  PhaseSeconds one{.load = next(),
                   .join = next(),
                   .read = next(),
                   .plan = next(),
                   .start = {},
                   .share = next(),
                   .upload = next(),
                   .upload_images = next(),
                   .warm_up = next(),
                   .infer = spread({30, 50, 70}),
                   .checkpoint = next(),
                   .gather = next(),
                   .write = next(),
                   .total = next()};
  all.add(one);
  all.add(one);
  EXPECT_EQ(all.load, 4);
  EXPECT_EQ(all.join, 8);
  EXPECT_EQ(all.read, 12);
  EXPECT_EQ(all.plan, 16);
  EXPECT_EQ(all.share, 20);
  EXPECT_EQ(all.upload, 24);
  EXPECT_EQ(all.upload_images, 28);
  EXPECT_EQ(all.warm_up, 32);
  EXPECT_EQ(all.infer.sum, 300);
  EXPECT_EQ(all.infer.median, 300) << "one trial of several parts";
  EXPECT_EQ(all.infer.min + all.infer.max, 600);
  PhaseSeconds later = one;
  later.add(one);
  EXPECT_EQ(later.infer.median, 300) << "of all trials of both parts";
  EXPECT_EQ(all.checkpoint, 36);
  EXPECT_EQ(all.gather, 40);
  EXPECT_EQ(all.write, 44);
  EXPECT_EQ(all.total, 48);
}

TEST(Report, OfAModelIsConclusiveWhereAllOutputsAre) {
  const OutputCheck proves{.largest_bound = 0.001, .largest_expected = 1};
  const OutputCheck says_little{.largest_bound = 1, .largest_expected = 1};
  const auto conclusive = [](std::vector<OutputCheck> outputs) {
    return LogitCheck{.against = "", .outputs = std::move(outputs)}.conclusive();
  };
  EXPECT_TRUE(conclusive({proves, proves}));
  EXPECT_FALSE(conclusive({proves, says_little}));
  EXPECT_FALSE(conclusive({says_little, proves}));
}

TEST(Report, OfAModelSpeaksOfASingleImageAndNotOfNone) {
  ModelReport report = full_model_report();
  LogitCheck& check = *report.expected;
  check.outside = check.beyond = check.undecided = 1;
  const std::string one = to_text(report);
  check.outside = check.beyond = check.undecided = 0;
  const std::string none = to_text(report);
  for (const char* const words : {"1 image is outside the bound", "1 image is within it", "1 image is beyond the"}) {
    EXPECT_NE(one.find(words), std::string::npos) << one;
    EXPECT_EQ(none.find(std::string(words).substr(11, 9)), std::string::npos) << none;
  }
}

TEST(Report, RoundingMakesNoNegativeRest) {
  Report report = timed_report();
  report.seconds.total = 303.75 - 1e-12;
  EXPECT_EQ(report.seconds.other(), 0);
}

TEST(Report, TextShowsWhatTheStartTookAndWhatWasWaitedFor) {
  const std::string text = to_text(timed_report());
  const std::string start = row(text, "device start-up");
  EXPECT_NE(start.find("4.000000 s  waiting time; it took 8.000000 s"), std::string::npos) << text;
  for (const char* key : {"load", "read", "plan", "upload", "infer", "gather", "write", "other", "total"})
    EXPECT_EQ(row(text, key).find(" s"), start.find(" s", 16)) << key << '\n' << text;
  EXPECT_NE(row(text, "warm-up").find("0.250000 s  uncounted trials"), std::string::npos);
  Report cold = timed_report();
  cold.seconds.warm_up = 0;
  EXPECT_EQ(row(to_text(cold), "warm-up"), "");
  Report on_cpu = timed_report();
  on_cpu.seconds.start = {};
  EXPECT_EQ(row(to_text(on_cpu), "device start-up"), "");
}

TEST(Report, OfAModelShowsTenNearTies) {
  ModelReport report;
  report.expected.emplace().near_ties.resize(12);
  const std::string text = to_text(report);
  std::size_t shown = 0;
  for (auto at = text.find("near tie  "); at != std::string::npos; at = text.find("near tie  ", at + 1)) ++shown;
  EXPECT_EQ(shown, 10U);
}

}  // namespace
}  // namespace spdnn
