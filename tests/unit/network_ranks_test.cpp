// A network on several ranks, which are threads here: what verifies the result is not what the ranks have computed
// with.

#include <gtest/gtest.h>

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>

#include "cluster/together.hpp"
#include "inference/inference_on_ranks.hpp"
#include "inference/run_on_ranks.hpp"
#include "inference/streaming.hpp"
#include "spdnn/error.hpp"
#include "spdnn/files.hpp"
#include "support/battery.hpp"
#include "support/streamed.hpp"
#include "support/thread_ranks.hpp"
#include "temporary_directory.hpp"

namespace spdnn {
namespace {

/// Overwrites all memory that ranks of this process share with zeros, and returns how many pieces of it there are.
int damage_shared_memory() {
  int pieces = 0;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    if (line.find("/memfd:spdnn") == std::string::npos) continue;
    if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR, &begin, &end) != 2) continue;
    std::memset(reinterpret_cast<void*>(begin), 0, end - begin);
    ++pieces;
  }
  return pieces;
}

enum class Damage { none, before_the_run, after_the_run };

/// Ranks whose root damages what they share in the last call of all before they run.
class DamagingRank final : public testing::ThreadRank {
 public:
  static inline Damage damage = Damage::none;
  using ThreadRank::ThreadRank;
  bool all(bool mine, Group group) override {
    const bool result = ThreadRank::all(mine, group);
    if (is_root() && group == Group::job && damage == Damage::before_the_run) damage_shared_memory();
    return ThreadRank::all(result, group);
  }
};

/// The root's report on three ranks.
Report report_with(Damage damage, const InferenceSpec& spec, const Network& network, const ImageSet& images) {
  DamagingRank::damage = damage;
  Report report;
  const auto work = [&](Communicator& ranks) {
    InferenceOnRanks inference(spec, ranks);
    if (ranks.is_root())
      inference.load(network, images);
    else
      inference.load();
    inference.plan();
    inference.run();
    const bool damages = ranks.is_root() && damage == Damage::after_the_run;
    EXPECT_EQ(damages && damage_shared_memory() > 0, damages);
    inference.verify();
    if (ranks.is_root()) report = inference.report();
    ranks.barrier();
  };
  for (const auto& thrown : testing::on_ranks<DamagingRank>(3, work)) EXPECT_EQ(thrown, nullptr);
  return report;
}

class VerifiedOnRanks : public ::testing::TestWithParam<const char*> {
 protected:
  Report report(Damage damage) const {
    InferenceSpec spec;
    spec.variant = "cpu_openmp";
    spec.threads = 1;
    spec.passes = parse_passes(GetParam());
    spec.truth.everything = true;
    return report_with(damage, spec, network_, images_);
  }

  Network network_ = testing::deep_network(12);
  testing::Dice dice_{8};
  ImageSet images_ = testing::bit_images(dice_, 100, 64, 0.4);
};

TEST_P(VerifiedOnRanks, AnUndisturbedRunPasses) {
  const Report found = report(Damage::none);
  EXPECT_EQ(found.verdict.status, Verdict::Status::passed);
  EXPECT_GT(found.outcome.categories.size(), 5U);
}

TEST_P(VerifiedOnRanks, VerificationReadsNothingOfWhatTheRanksShare) {
  EXPECT_EQ(report(Damage::after_the_run).verdict.status, Verdict::Status::passed);
}

TEST_P(VerifiedOnRanks, ARunOnDamagedWeightsFails) {
  const Report found = report(Damage::before_the_run);
  EXPECT_TRUE(found.outcome.categories.empty());
  EXPECT_EQ(found.verdict.status, Verdict::Status::failed);
}

INSTANTIATE_TEST_SUITE_P(Passes, VerifiedOnRanks, ::testing::Values("none", "all"),
                         [](const auto& test) { return std::string(test.param); });

/// Runs batches of ten images on so many ranks, each of which stops at its `question`-th question; returns the root's
/// categories, or nothing where the run was stopped.
std::optional<Categories> run_with_checkpoint(int ranks, int question, const std::string& checkpoint,
                                              const Network& network, const ImageSet& images) {
  std::optional<Categories> found;
  const auto work = [&](Communicator& rank) {
    InferenceSpec spec;
    spec.variant = "cpu_openmp";
    spec.threads = 1;
    spec.passes = parse_passes("dead");
    spec.batch = 10;
    spec.checkpoint = checkpoint;
    spec.stop = [asked = 0, question]() mutable { return ++asked >= question; };
    InferenceOnRanks inference(spec, rank);
    if (rank.is_root())
      inference.load(network, images);
    else
      inference.load();
    inference.plan();
    try {
      inference.run();
      if (rank.is_root()) found = inference.report().outcome.categories;
    } catch (const Stopped&) {
    }
  };
  for (const auto& thrown : testing::on_ranks(ranks, work)) EXPECT_EQ(thrown, nullptr);
  return found;
}

TEST(StoppedOnRanks, AnyNumberOfRanksGoesOnWithAllImagesThatAreLeft) {
  constexpr int kNever = 1000000;
  const TemporaryDirectory directory;
  const Network network = testing::deep_network(12);
  testing::Dice dice(8);
  const ImageSet images = testing::bit_images(dice, 100, 64, 0.4);
  const std::string alone = (directory / "alone").string();
  const Categories expected = run_with_checkpoint(1, kNever, alone, network, images).value();
  ASSERT_GT(expected.size(), 5U);
  for (const int question : {1, 5, 14, 20}) {  // in the first batch, and in the second
    const std::string path = (directory / std::to_string(question)).string();
    EXPECT_FALSE(run_with_checkpoint(3, question, path, network, images));
    EXPECT_FALSE(run_with_checkpoint(2, 5, path, network, images));
    EXPECT_EQ(run_with_checkpoint(4, kNever, path, network, images), expected) << question;
  }
}

TEST(AddTimes, TimesOfPiecesAreSums) {
  RankedResult all;
  RankedResult piece;
  piece.result.infer_seconds = {3};
  piece.ranks = {{"a", 4, 0.5, 1}, {"b", 6, 0.25, 2}};
  add_times(all, piece);
  add_times(all, piece);
  EXPECT_EQ(all.result.infer_seconds, std::vector<double>{6});
  ASSERT_EQ(all.ranks.size(), 2U);
  EXPECT_EQ(all.ranks[1].host, "b");
  EXPECT_EQ(all.ranks[1].images, 12U);
  EXPECT_EQ(all.ranks[1].upload_seconds, 0.5);
  EXPECT_EQ(all.ranks[1].infer_seconds, 4);
}

TEST(StreamedOnRanks, ARankThatFindsAnotherNetworkFailsAndAllHearOfIt) {
  const TemporaryDirectory directory;
  NetworkSpec spec;
  spec.path = (directory / "n.spdnn").string();
  const auto write = [&](Index layers) { write_network(spec.path, Form::packed, testing::deep_network(layers)); };
  write(40);
  const NetworkStream stream = stream_if_too_large(spec, 1000)->network;
  const Plan plan = make_plan(stream, {}, {.at_once = 2, .plan_bytes = 0});
  ASSERT_TRUE(plan.streamed);
  std::array<std::string, 3> ends;
  const auto work = [&](Communicator& ranks) {
    std::string& end = ends[static_cast<std::size_t>(ranks.place().rank)];
    try {
      const Plan shared = share_plan(ranks, ranks.is_root() ? plan : Plan{}, spec);
      end = shared.streamed && shared.streamed->at_once == 2 ? "streamed" : "not streamed";
    } catch (const RanksFailed& failed) {
      try {
        end = "another failed";
        if (failed.own) std::rethrow_exception(failed.own);
      } catch (const DataError& error) {
        end = error.what();
      }
    }
  };
  const auto ends_are = [&](const std::string& roots, const std::string& others) {
    for (const auto& thrown : testing::on_ranks(3, work)) EXPECT_EQ(thrown, nullptr);
    EXPECT_EQ(ends, (std::array{roots, others, others}));
  };
  ends_are("streamed", "streamed");
  write(39);
  ends_are("another failed", spec.path + ": is another network than the first rank has read under this name");
}

}  // namespace
}  // namespace spdnn
