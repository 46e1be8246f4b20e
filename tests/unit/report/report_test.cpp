#include "spdnn/report.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "spdnn/model_report.hpp"

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
  const auto seconds = nlohmann::json::parse(to_json(report))["seconds"];
  EXPECT_EQ(seconds["start"]["took"], 8);
  EXPECT_EQ(seconds["start"]["waited"], 4);
  EXPECT_EQ(seconds["infer"]["sum"], 96);
  double sum = seconds["start"]["waited"].get<double>() + seconds["infer"]["sum"].get<double>();
  for (const auto& [name, value] : seconds.items())
    if (value.is_number() && name != "total" && name != "upload_images") sum += value.get<double>();
  EXPECT_EQ(sum, seconds["total"]);
}

TEST(Report, CountsAndNotesAreShownUnderTheirNames) {
  Report report = timed_report();
  report.passes.merge = true;
  report.outcome.borderline = {1, 7};
  report.outcome.overflow = {{2, 5}, {6, 3}};
  report.outcome.alive = {9, 8};
  report.outcome.active = {7, -1};
  report.notes = {"saturated is not applied: there is no cap", "another"};
  const std::string text = to_text(report);
  EXPECT_NE(row(text, "run again").find("2 borderline images"), std::string::npos) << text;
  EXPECT_NE(row(text, "overflow").find("sums of 2 images exceeded fp32, from layer 4 on; first images 3 7;"),
            std::string::npos)
      << text;
  for (const std::string& note : report.notes) EXPECT_NE(text.find(note + '\n'), std::string::npos) << text;
  const auto json = nlohmann::json::parse(to_json(report));
  EXPECT_FALSE(json.contains("saturated") || json.contains("identical")) << "they differ from run to run";
  EXPECT_EQ(json["overflow"], (nlohmann::json{{"images", 2}, {"layer", 4}, {"first_ids", {3, 7}}}));
  EXPECT_EQ(json["borderline"], 2);
  EXPECT_EQ(json["alive"], (std::vector<int>{9, 8}));
  EXPECT_EQ(json["active"], (nlohmann::json{7, nullptr}));
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
  EXPECT_EQ(nlohmann::json::parse(to_json(report))["device_state"], nullptr);
  EXPECT_EQ(row(to_text(report), "device state"), "");
  report.device_state = DeviceState{spread({1980, 1755, 1965}), {}, spread({41}), spread({310.5, 420}), 12.5};
  EXPECT_EQ(row(to_text(report), "device state"),
            "device state     SM clock 1965 MHz (1755 to 1980), memory clock not available, temperature 41 C (41 to "
            "41), power "
            "365 W (310 to 420), 12.5 J per trial");
  const auto json = nlohmann::json::parse(to_json(report))["device_state"];
  EXPECT_EQ(json["sm_clock_mhz"], (nlohmann::json{{"min", 1755.0}, {"median", 1965.0}, {"max", 1980.0}}));
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
    const auto compared = nlohmann::json::parse(to_json(report))["compared"];
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
  const auto json = nlohmann::json::parse(to_json(report));
  EXPECT_EQ(json["rate_computed"], 2.0);
  EXPECT_EQ(json["rate_with_setup"], report.rate_with_setup());
  EXPECT_EQ(json["computed_edges"], 64.0);
  report.computed_edges.reset();
  EXPECT_EQ(nlohmann::json::parse(to_json(report))["rate_computed"], nullptr);
  EXPECT_NE(row(to_text(report), "rate_computed").find("not counted"), std::string::npos);
}

TEST(Report, RanksOfAResumedRunAreThoseOfItsLastPart) {
  Report report = timed_report();
  report.ranks =
      RankSpreads{.ranks = 2, .hosts = 1, .images = spread({5}), .upload = spread({1}), .infer = spread({2})};
  EXPECT_EQ(row(to_text(report), "ranks").find("ranks            2 on 1 host;"), 0U) << row(to_text(report), "ranks");
  EXPECT_NE(row(to_text(report), "ranks").find("; the slowest, rank 0, 1.00 times the median"), std::string::npos);
  EXPECT_NE(row(to_text(report), "ranks").find("; 5 to 5 images each; "), std::string::npos);
  EXPECT_EQ(nlohmann::json::parse(to_json(report))["ranks"]["deal"], "fixed");
  report.ranks->taken = spread({3, 6});
  EXPECT_NE(row(to_text(report), "ranks").find("; 5 to 5 images each, taken in 3 to 6 batches; "), std::string::npos);
  const auto json = nlohmann::json::parse(to_json(report))["ranks"];
  EXPECT_EQ(json["deal"], "counter");
  EXPECT_EQ(json["taken"]["max"], 6.0);
  report.parts = 3;
  EXPECT_EQ(row(to_text(report), "ranks").find("ranks            last part: 2 on 1 host;"), 0U);
  EXPECT_NE(row(to_text(report), "parts").find("phases below are sums over the parts"), std::string::npos);
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
