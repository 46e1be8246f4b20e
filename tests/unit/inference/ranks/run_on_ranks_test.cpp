// A network on several ranks, which are threads here. Verification does not use the memory with which the ranks
// computed.

#include "inference/ranks/run_on_ranks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cluster/together.hpp"
#include "inference/network/streaming.hpp"
#include "inference/ranks/inference_on_ranks.hpp"
#include "spdnn/error.hpp"
#include "spdnn/files.hpp"
#include "support/battery.hpp"
#include "support/dealt_work.hpp"
#include "support/stoppable_run.hpp"
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
    void* begin = nullptr;
    void* end = nullptr;
    if (line.find("/memfd:spdnn") == std::string::npos) continue;
    if (std::sscanf(line.c_str(), "%p-%p", &begin, &end) != 2) continue;
    std::memset(begin, 0, static_cast<std::size_t>(static_cast<char*>(end) - static_cast<char*>(begin)));
    ++pieces;
  }
  return pieces;
}

enum class Damage { none, before_the_run, after_the_run };

/// Ranks whose root damages the shared memory in the last collective call before they run.
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
  testing::Rng rng_{8};
  ImageSet images_ = testing::bit_images(rng_, 100, 64, 0.4);
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

/// A rank that receives its images of 64 neurons, held as bits, in a wrong order.
class ShufflingRank final : public testing::ThreadRank {
 public:
  using ThreadRank::ThreadRank;
  void exchange(std::span<const std::byte> out, std::span<const std::size_t> out_sizes, std::span<std::byte> in,
                std::span<const std::size_t> in_sizes) override {
    ThreadRank::exchange(out, out_sizes, in, in_sizes);
    if (!std::exchange(dealt_, true)) std::rotate(in.begin(), in.begin() + 8, in.end());
  }

 private:
  bool dealt_ = false;
};

/// The status of three ranks' run on images of a file, verified with all of them, or with a sample.
template <class Rank>
Verdict::Status verified_on_ranks(const TruthSpec& truth, const std::string& images) {
  const Network network = testing::deep_network(12);
  Verdict::Status status{};
  const auto work = [&](Communicator& ranks) {
    InferenceSpec spec;
    spec.network.path = images + "-network.spdnn";
    spec.images.path = images;
    spec.variant = "cpu_openmp";
    spec.threads = 1;
    spec.truth = truth;
    if (ranks.is_root()) write_network(spec.network.path, Form::packed, network);
    InferenceOnRanks inference(spec, ranks);
    inference.load();
    inference.plan();
    inference.run();
    inference.verify();
    if (ranks.is_root()) status = inference.report().verdict.status;
    ranks.barrier();
  };
  for (const auto& thrown : testing::on_ranks<Rank>(3, work)) EXPECT_EQ(thrown, nullptr);
  return status;
}

TEST(ImagesToVerify, AreThoseOfTheFileAndNotThoseThatTheRanksGot) {
  const TemporaryDirectory directory;
  const std::string images = (directory / "i.spdnn").string();
  testing::Rng rng(8);
  write_images(images, testing::bit_images(rng, 100, 64, 0.4));
  TruthSpec all;
  all.everything = true;
  TruthSpec sample;
  sample.sample = 40;
  EXPECT_EQ(verified_on_ranks<testing::ThreadRank>(all, images), Verdict::Status::passed);
  EXPECT_EQ(verified_on_ranks<testing::ThreadRank>(sample, images), Verdict::Status::unverified);
  EXPECT_EQ(verified_on_ranks<ShufflingRank>(all, images), Verdict::Status::failed);
  EXPECT_EQ(verified_on_ranks<ShufflingRank>(sample, images), Verdict::Status::failed);
}

/// Runs batches of ten images on `ranks` ranks, each of which stops at its `question`-th question; returns the root's
/// categories, or nothing if the run was stopped.
std::optional<Categories> run_with_checkpoint(int ranks, int question, const std::string& checkpoint,
                                              const Network& network, const ImageSet& images) {
  InferenceSpec spec;
  spec.variant = "cpu_openmp";
  spec.threads = 1;
  spec.passes = parse_passes("dead");
  spec.batch = 10;
  spec.checkpoint = checkpoint;
  spec.stop = [asked = 0, question]() mutable { return ++asked >= question; };
  const std::optional<Report> report = testing::stoppable_run(ranks, spec, network, images);
  if (!report) return std::nullopt;
  return report->outcome.categories;
}

TEST(StoppedOnRanks, AnyNumberOfRanksGoesOnWithAllImagesThatAreLeft) {
  constexpr int kNever = 1000000;
  const TemporaryDirectory directory;
  const Network network = testing::deep_network(12);
  testing::Rng rng(8);
  const ImageSet images = testing::bit_images(rng, 100, 64, 0.4);
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

/// A rank that counts how often ranks wait for all others.
class CountingRank final : public testing::ThreadRank {
 public:
  static inline std::atomic<int> waits = 0;
  using ThreadRank::ThreadRank;
  bool all(bool mine, Group group) override {
    ++waits;
    return ThreadRank::all(mine, group);
  }
};

/// The result of three ranks for pieces of work that begin with layer 0, where each rank has `images` of its own piece.
RankedResult run_pieces(const Network& network, const std::vector<ImageSet>& images, std::vector<Work>* shares = {}) {
  const Plan plan = testing::unreduced_plan(network);
  std::vector<Work> work;
  Index next = 0;
  for (const ImageSet& some : images) {
    Work piece{0, std::vector<Index>(some.images()), some};
    std::iota(piece.ids.begin(), piece.ids.end(), std::exchange(next, next + some.images()));
    work.push_back(std::move(piece));
  }
  const std::vector<RunOrder> orders(images.size(), RunOrder{.layer = 0, .variant = "cpu_openmp", .why_in_order = ""});
  RunOptions options;
  options.engine.threads = 1;
  RankedResult found;
  const auto run = [&](Communicator& ranks) {
    const std::vector<Work> mine = testing::dealt_work(ranks.place(), work);
    if (shares != nullptr) shares[ranks.place().rank] = mine;
    RankedResult result = run_on_ranks(ranks, orders, plan, mine, options);
    if (ranks.is_root()) found = std::move(result);
    ranks.barrier();
  };
  CountingRank::waits = 0;
  for (const auto& thrown : testing::on_ranks<CountingRank>(3, run)) EXPECT_EQ(thrown, nullptr);
  return found;
}

TEST(PiecesOnRanks, RunSideBySideWithTheOutcomeOfOne) {
  const Network network = testing::deep_network(12);
  testing::Rng rng(8);
  const ImageSet images = testing::bit_images(rng, 100, 64, 0.4);
  const Outcome expected = run_pieces(network, {images}).result.outcome;
  const int waits = CountingRank::waits;
  ASSERT_GT(expected.categories.size(), 5U);
  std::array<std::vector<Work>, 3> shares;
  const RankedResult found =
      run_pieces(network, {images.slice(0, 1), images.slice(1, 59), images.slice(60, 40)}, shares.data());
  EXPECT_EQ(found.result.outcome.categories, expected.categories);
  EXPECT_EQ(found.result.outcome.alive, expected.alive);
  EXPECT_EQ(CountingRank::waits, waits) << "ranks wait for one another no more often than with one piece";
  Index all = 0;
  for (std::size_t rank = 0; rank < shares.size(); ++rank) {
    ASSERT_EQ(shares[rank].size(), 3U);
    Index own = 0;
    for (const Work& work : shares[rank]) own += work.images.images();
    EXPECT_EQ(found.ranks[rank].images, own);
    all += own;
  }
  EXPECT_EQ(all, 100U);
  EXPECT_EQ(shares[0][2].ids, (std::vector<Index>{60, 63, 66, 69, 72, 75, 78, 81, 84, 87, 90, 93, 96}));
}

TEST(TakeLongest, TimesOfRanksAreTheLongestOfEach) {
  const auto report = [](std::vector<double> infer, double scale, Index batch, std::vector<std::string> notes) {
    LoopResult one;
    one.infer_seconds = std::move(infer);
    one.upload_seconds = 2 * scale;
    one.load_seconds = 3 * scale;
    one.warm_up_seconds = 4 * scale;
    one.gather_seconds = 5 * scale;
    one.interrupted_seconds = 6 * scale;
    one.batch = batch;
    one.notes = std::move(notes);
    return rank_report_of(one, 8);
  };
  const RankReport longer = report({3, 4, 5}, 2, 7, {"a", "b"});
  const RankReport shorter = report({9, 1}, 1, 5, {"b", "c"});
  EXPECT_EQ(longer.times.images, 8U);
  EXPECT_EQ(longer.times.infer_seconds, 4) << "the median";
  for (const bool turned : {false, true}) {
    LoopResult all;
    take_longest(all, turned ? shorter : longer);
    take_longest(all, turned ? longer : shorter);
    EXPECT_EQ(all.infer_seconds, (std::vector<double>{9, 4, 5}));
    EXPECT_EQ(all.upload_seconds, 4);
    EXPECT_EQ(all.load_seconds, 6);
    EXPECT_EQ(all.warm_up_seconds, 8);
    EXPECT_EQ(all.gather_seconds, 10);
    EXPECT_EQ(all.interrupted_seconds, 12);
    EXPECT_EQ(all.batch, 7U);
    EXPECT_EQ(all.notes.size(), 3U);
  }
}

TEST(AddTimes, TimesOfPiecesAreSums) {
  RunResult all;
  RunResult piece;
  piece.infer_seconds = {3, 4};
  piece.upload_seconds = 0.5;
  piece.load_seconds = 0.25;
  piece.warm_up_seconds = 2;
  piece.gather_seconds = 0.125;
  piece.batch = 7;
  piece.notes = {"said once"};
  add_times(all, piece);
  piece.batch = 5;
  add_times(all, piece);
  EXPECT_EQ(all.infer_seconds, (std::vector<double>{6, 8}));
  EXPECT_EQ(all.upload_seconds, 1);
  EXPECT_EQ(all.load_seconds, 0.5);
  EXPECT_EQ(all.warm_up_seconds, 4);
  EXPECT_EQ(all.gather_seconds, 0.25);
  EXPECT_EQ(all.batch, 7U);
  EXPECT_EQ(all.notes, std::vector<std::string>{"said once"});
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
  ends_are("another failed", spec.path + ": differs from the network that the first rank read under this name");
}

}  // namespace
}  // namespace spdnn
