// Runs that write checkpoints, and what their reports say of these.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/text/json_text.hpp"
#include "inference/ranks/inference_on_ranks.hpp"
#include "inference/ranks/run_on_ranks.hpp"
#include "io/files/input_file.hpp"
#include "spdnn/error.hpp"
#include "spdnn/inference.hpp"
#include "support/battery.hpp"
#include "support/message_of.hpp"
#include "support/reports.hpp"
#include "support/stoppable_run.hpp"
#include "support/thread_ranks.hpp"
#include "temporary_directory.hpp"

namespace spdnn {
namespace {

class RunsInParts : public ::testing::Test {
 protected:
  RunsInParts() {
    spec_.variant = "cpu_openmp";
    spec_.threads = 1;
    spec_.passes = parse_passes("dead");
    spec_.checkpoint = (directory_ / "run").string();
    spec_.warning = [this](const std::string& warning) { warnings_.push_back(warning); };
  }

  Report run() const { return testing::report_of(spec_, network_, images_); }

  TemporaryDirectory directory_;
  Network network_ = testing::deep_network(12);
  testing::Rng rng_{8};
  ImageSet images_ = testing::bit_images(rng_, 50, 64, 0.4);
  InferenceSpec spec_;
  std::vector<std::string> warnings_;
};

TEST_F(RunsInParts, TellHowOftenACheckpointWasDue) {
  EXPECT_EQ(run().checkpoints->every, 900);
  spec_.checkpoint_every.reset();
  EXPECT_EQ(run().checkpoints->every, std::nullopt);
  spec_.checkpoint_every = 1e6;
  const Report rare = run();
  EXPECT_EQ(rare.checkpoints->every, 1e6);
  EXPECT_EQ(rare.checkpoints->written, 0);
  EXPECT_TRUE(rare.notes.empty());
  spec_.checkpoint_every = 1e-9;
  const Report often = run();
  EXPECT_GE(often.checkpoints->written, 1);
  EXPECT_GT(often.checkpoints->bytes, 0U);
  EXPECT_GT(often.seconds.checkpoint, 0);
  EXPECT_GT(often.checkpoints->every, 1e-9);
  ASSERT_EQ(often.notes.size(), 1U);
  EXPECT_TRUE(often.notes[0].starts_with("writing a checkpoint takes ")) << often.notes[0];
  EXPECT_NE(often.notes[0].find(", so the interval is "), std::string::npos) << often.notes[0];
  EXPECT_EQ(often.outcome.categories, rare.outcome.categories);
  // The last checkpoint, from which a run would go on that was killed since.
  const Json file = parse_json(text_of_file(spec_.checkpoint));
  EXPECT_EQ(file["parts"], 1);
  EXPECT_GT(file["next_within"].get<double>(), 0);
  EXPECT_GT(file["costs"]["every"].get<double>(), 0);
  EXPECT_GT(file["seconds"]["total"].get<double>(), 0);
  EXPECT_GT(file["seconds"]["plan"].get<double>(), 0);
}

TEST_F(RunsInParts, WithoutRoomForCheckpointsGoOnAndSaySo) {
  std::filesystem::create_directories(spec_.checkpoint + ".next.spdnn/full");
  spec_.checkpoint_every = 1e-9;
  const Report report = run();
  EXPECT_EQ(report.checkpoints->written, 0);
  EXPECT_EQ(warnings_.size(), 1U);
  EXPECT_TRUE(std::any_of(report.notes.begin(), report.notes.end(), [](const std::string& note) {
    return note.find(" could not be written: ") != std::string::npos;
  }));
  EXPECT_FALSE(report.outcome.categories.empty());
}

/// Where images that had been begun cannot be kept, the message says so, and why.
TEST_F(RunsInParts, ThatAreStoppedSayWhatIsBegunAgain) {
  spec_.batch = 10;
  const auto stopped_after = [&](int questions) {
    spec_.stop = [asked = 0, questions]() mutable { return ++asked > questions; };
    return testing::message_of<Stopped>([&] { run(); });
  };
  const std::string said = "stopped; the same command continues the run from " + spec_.checkpoint;
  EXPECT_EQ(stopped_after(18), said);
  std::filesystem::remove(spec_.checkpoint);
  std::filesystem::create_directories(spec_.checkpoint + ".next.spdnn/full");
  const std::string again = stopped_after(18);
  EXPECT_TRUE(again.starts_with(said + ", but begins some images again, for " + spec_.checkpoint + ".next.spdnn: "))
      << again;
}

TEST_F(RunsInParts, OnRanksTheFirstShowsProgressAndSharesAreFixed) {
  std::array<int, 3> shown{};
  const auto counted = [&](InferenceSpec& own, int rank) {
    own.progress = [&shown, rank](const ProgressUpdate&) { ++shown[static_cast<std::size_t>(rank)]; };
  };
  const Report report = testing::stoppable_run(3, spec_, network_, images_, counted).value();
  EXPECT_GT(shown[0], 0);
  EXPECT_EQ(shown[1] + shown[2], 0);
  const auto fixed = [](const Report& of) {
    return std::count(of.notes.begin(), of.notes.end(),
                      "the ranks' shares are fixed: a checkpoint stores the rest of each");
  };
  EXPECT_EQ(fixed(report), 1);
  EXPECT_TRUE(std::none_of(report.notes.begin(), report.notes.end(), [](const std::string& note) {
    return note.starts_with("part of the run was computed by");
  }));
  spec_.deal = Deal::fixed;
  EXPECT_EQ(fixed(testing::stoppable_run(3, spec_, network_, images_).value()), 0);
}

/// 1 + 2^-30 - 1, which is nothing in fp32.
TEST_F(RunsInParts, EachPieceRunsInThePrecisionOfItsOrder) {
  Network network;
  network.layers = {testing::make_layer(3, {{{0, 1.0F}, {1, 0x1p-30F}, {2, -1.0F}}}, 0)};
  const Plan plan = testing::unreduced_plan(network);
  const ImageSet ones{testing::make_matrix(3, {{{0, 1.0F}, {1, 1.0F}, {2, 1.0F}}})};
  for (const Precision precision : {Precision::fp32, Precision::fp64}) {
    const RunOrder order{.layer = 0, .variant = "cpu_openmp", .precision = precision, .why_in_order = {}};
    const auto ranks = alone();
    const RankedResult found = run_on_ranks(*ranks, {order}, plan, {{0, {}, ones}}, {});
    EXPECT_EQ(found.result.outcome.categories.size(), precision == Precision::fp64 ? 1U : 0U);
  }
}

}  // namespace
}  // namespace spdnn
