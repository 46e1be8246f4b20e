// Ranks, which are threads here, that write checkpoints together while their run goes on.

#include "inference/checkpoint/rounds.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <future>
#include <string>
#include <vector>

#include "cluster/together.hpp"
#include "inference/checkpoint/keeper.hpp"
#include "inference/ranks/run_on_ranks.hpp"
#include "io/packed/digests.hpp"
#include "plan/image_facts.hpp"
#include "plan/planner.hpp"
#include "spdnn/error.hpp"
#include "spdnn/inference.hpp"
#include "support/battery.hpp"
#include "support/dealt_work.hpp"
#include "support/reports.hpp"
#include "support/sampled.hpp"
#include "support/thread_ranks.hpp"
#include "temporary_directory.hpp"

namespace spdnn {
namespace {

namespace fs = std::filesystem;
using After = CheckpointRounds::After;

/// Always due.
CheckpointClock due_clock(std::function<bool()> stop = {}) {
  return {{.every = 1, .stop = std::move(stop)}, [now = 0.0]() mutable { return now += 1e6; }};
}

const CheckpointRounds::Keep nothing_to_keep = [](const auto&) {
  ADD_FAILURE();
  return CheckpointRounds::Rest();
};

/// The outcome of one round for three ranks, each of which does `act`.
std::vector<After> round_of(const std::function<After(Communicator&, CheckpointClock&)>& act) {
  std::vector<After> after(3);
  const auto work = [&](Communicator& ranks) {
    CheckpointClock clock = due_clock([&] { return ranks.place().rank == 1; });
    after[static_cast<std::size_t>(ranks.place().rank)] = act(ranks, clock);
  };
  for (const auto& thrown : testing::on_ranks(3, work)) EXPECT_EQ(thrown, nullptr);
  return after;
}

TEST(CheckpointRounds, ARankThatStopsStopsAllOfThem) {
  const auto after = round_of([](Communicator& ranks, CheckpointClock& clock) {
    clock.due_in();
    return CheckpointRounds(ranks, clock).enter(ranks.place().rank == 2, nothing_to_keep);
  });
  EXPECT_EQ(after, std::vector(3, After::stopped));
}

TEST(CheckpointRounds, WhereAllAreDoneNothingIsWritten) {
  const auto after = round_of([](Communicator& ranks, CheckpointClock& clock) {
    clock.due_in();
    return CheckpointRounds(ranks, clock).enter(true, nothing_to_keep);
  });
  EXPECT_EQ(after, std::vector(3, After::done));
}

TEST(CheckpointRounds, WhereWorkIsLeftAllWriteAndHaveTheIntervalOfTheRoot) {
  std::atomic<int> kept = 0;
  std::array<double, 3> writing{};
  const auto after = round_of([&](Communicator& ranks, CheckpointClock& clock) {
    clock.adopt(0, ranks.is_root() ? 1 : 77);
    const After result = CheckpointRounds(ranks, clock).enter(ranks.place().rank == 2, [&](const auto&) {
      ++kept;
      return CheckpointRounds::Rest();
    });
    EXPECT_LT(clock.every(), 77);
    EXPECT_GE(clock.every(), 1) << "as asked for";
    writing[static_cast<std::size_t>(ranks.place().rank)] = clock.writing();
    return result;
  });
  EXPECT_EQ(after, std::vector(3, After::go_on));
  EXPECT_EQ(kept, 3);
  EXPECT_GT(writing[0], 0);
  EXPECT_EQ(writing, (std::array{writing[0], writing[0], writing[0]})) << "as the root has measured";
}

TEST(CheckpointRounds, TheIntervalBeginsWhenACheckpointIsDone) {
  double now = 100;
  CheckpointClock clock({.every = 10, .stop = {}}, [&] { return now; });
  const auto ranks = alone();
  CheckpointRounds rounds(*ranks, clock);
  clock.begin();
  now += 12;
  EXPECT_EQ(clock.due_in(), -2);
  const auto keep = [&](const CheckpointClock::Statement& statement) {
    EXPECT_EQ(statement.every, 10);
    now += 3;
    return CheckpointRounds::Rest();
  };
  EXPECT_EQ(rounds.enter(false, keep), After::go_on);
  EXPECT_EQ(clock.due_in(), 10);
  const CheckpointClock::Statement next = clock.begin_writing();
  EXPECT_LT(next.next_within - next.every - clock.writing(), 1) << "the three seconds are no layer's";
}

TEST(CheckpointRounds, ARankWhoseWorkFailsEndsTheOthersRounds) {
  const auto work = [&](Communicator& ranks) {
    CheckpointClock clock = due_clock();
    CheckpointRounds rounds(ranks, clock);
    try {
      if (ranks.place().rank == 2) throw DataError("broken");
      rounds.enter(false, nothing_to_keep);
    } catch (const DataError&) {
      EXPECT_TRUE(rounds.open());
      try {
        rounds.fail();
      } catch (const RanksFailed& failed) {
        EXPECT_THROW(std::rethrow_exception(failed.own ? failed.own : std::make_exception_ptr(0)), DataError);
        throw;
      }
    } catch (const RanksFailed& failed) {
      EXPECT_EQ(failed.own, nullptr);
      EXPECT_FALSE(rounds.open());
      throw;
    }
  };
  for (const auto& thrown : testing::on_ranks(3, work)) EXPECT_NE(thrown, nullptr);
}

TEST(CheckpointRounds, ACheckpointsRestIsDoneWhileTheRunGoesOn) {
  std::atomic<int> written = 0;
  const auto work = [&](Communicator& ranks) {
    CheckpointClock clock = due_clock();
    CheckpointRounds rounds(ranks, clock);
    std::promise<void> layers_done;
    const auto rest = [&, layers = layers_done.get_future().share()] {
      layers.wait();
      ranks.barrier();
      ++written;
    };
    // Rank 1 has nothing to do beside its run.
    const After after = rounds.enter(false, [&](const auto&) -> CheckpointRounds::Rest {
      if (ranks.place().rank != 1) return rest;
      layers_done.set_value();
      rest();
      return {};
    });
    EXPECT_EQ(after, After::go_on);
    if (ranks.is_root()) {
      EXPECT_EQ(written, 0) << "the root's layers are to come";
    }
    if (ranks.place().rank != 1) layers_done.set_value();
    EXPECT_EQ(rounds.enter(true, nothing_to_keep), After::done);
    EXPECT_EQ(written, 3);
    EXPECT_GT(clock.writing(), 0);
  };
  for (const auto& thrown : testing::on_ranks(3, work)) EXPECT_EQ(thrown, nullptr);
}

TEST(CheckpointRounds, WhatFailsBesideTheRunEndsTheNextRound) {
  const auto work = [&](Communicator& ranks) {
    CheckpointClock clock = due_clock();
    CheckpointRounds rounds(ranks, clock);
    rounds.enter(false, [&](const auto&) -> CheckpointRounds::Rest { return [] { throw DataError("broken"); }; });
    EXPECT_TRUE(rounds.open());
    EXPECT_THROW(rounds.enter(true, nothing_to_keep), DataError);
    EXPECT_FALSE(rounds.open());
  };
  for (const auto& thrown : testing::on_ranks(1, work)) EXPECT_EQ(thrown, nullptr);
}

TEST(CheckpointRounds, ARankThatFailsDoesItsPartOfWhatIsWritten) {
  std::atomic<int> written = 0;
  const auto work = [&](Communicator& ranks) {
    CheckpointClock clock = due_clock();
    CheckpointRounds rounds(ranks, clock);
    rounds.enter(false, [&](const auto&) -> CheckpointRounds::Rest {
      return [&] {
        ranks.barrier();
        ++written;
      };
    });
    try {
      if (ranks.place().rank == 2) throw DataError("broken");
      rounds.enter(false, nothing_to_keep);
    } catch (const DataError&) {
      rounds.fail();
    }
  };
  const auto thrown = testing::on_ranks(3, work);
  for (const auto& one : thrown) EXPECT_THROW(std::rethrow_exception(one), RanksFailed);
  EXPECT_EQ(written, 3);
}

/// A run that writes a checkpoint at each chance, all of which are kept.
class CheckpointsOfARun : public ::testing::TestWithParam<int> {
 protected:
  CheckpointsOfARun() {
    spec_.variant = "cpu_openmp";
    spec_.threads = 1;
    spec_.passes = parse_passes("dead");
  }

  Report run(const InferenceSpec& spec) const { return testing::report_of(spec, network_, images_); }

  void run_and_copy(Communicator& ranks) {
    const Plan plan = make_plan(network_, spec_.passes);
    CheckpointKeeper keeper(path_, Checkpoint(plan, Precision::fp32, image_digest(images_).value(), 100), {});
    const RunOrder order = order_for(find_variant("cpu_openmp"), Precision::fp32, plan, facts_of(images_));
    CheckpointClock clock = due_clock();
    const Keeping keeping{clock,
                          [&](const RankedResult& all, LeftWork& left, const auto&) { copy(keeper, all, left); }};
    RunOptions options;
    options.engine.threads = 1;
    options.batch = 14;
    options.look_seconds = 0;
    const RankedResult all =
        run_on_ranks(ranks, {order, order}, plan, testing::dealt_work(ranks.place(), pieces()), options, &keeping);
    EXPECT_TRUE(!ranks.is_root() || all.result.outcome.categories == expected_);
  }

  /// Two pieces of work, as in a continued run.
  std::vector<Work> pieces() const {
    std::vector<Work> pieces{{0, {}, images_.slice(0, 60)}, {0, {}, images_.slice(60, 40)}};
    for (Index image = 0; image < 100; ++image) pieces[image < 60 ? 0 : 1].ids.push_back(image);
    return pieces;
  }

  /// Keeps the results and copies the files, which are those that a run killed at this moment leaves.
  void copy(CheckpointKeeper& keeper, const RankedResult& all, LeftWork& left) {
    Checkpoint now = keeper.begin();
    now.left.clear();
    now.parts = 1;
    now.next_within = 5;
    conclude_work(all.result.outcome, left.outline(), now);
    const int before = keeper.costs().written;
    keeper.keep(now, [&] { return left.next_part(); });
    if (keeper.costs().written == before) return;
    copies_.push_back((directory_ / std::to_string(copies_.size())).string());
    for (const auto& entry : fs::directory_iterator(directory_.path())) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with("run")) fs::copy_file(entry.path(), copies_.back() + name.substr(3));
    }
  }

  TemporaryDirectory directory_;
  std::string path_ = (directory_ / "run").string();
  Network network_ = testing::deep_network(12);
  testing::Rng rng_{8};
  ImageSet images_ = testing::bit_images(rng_, 100, 64, 0.4);
  InferenceSpec spec_;
  Categories expected_;
  std::vector<std::string> copies_;
};

TEST_P(CheckpointsOfARun, CanEachBeContinuedToTheSameCategories) {
  expected_ = run(spec_).outcome.categories;
  ASSERT_GT(expected_.size(), 5U);
  const auto work = [&](Communicator& ranks) { run_and_copy(ranks); };
  for (const auto& thrown : testing::on_ranks(GetParam(), work)) EXPECT_EQ(thrown, nullptr);
  EXPECT_GT(copies_.size(), 20U);
  std::uint64_t before = std::uint64_t{100} * 12;
  for (std::size_t k = 0; k < copies_.size(); k += testing::sampled(8U, 1U)) {
    const std::string& copy = copies_[k];
    Checkpoint state(make_plan(network_, spec_.passes), Precision::fp32, image_digest(images_).value(), 100);
    read_checkpoint(copy, state);
    EXPECT_LT(state.left_in_file, before);
    before = state.left_in_file;
    InferenceSpec rest = spec_;
    rest.checkpoint = copy;
    const Report report = run(rest);
    EXPECT_EQ(report.outcome.categories, expected_) << copy;
    EXPECT_EQ(report.parts, 2);
    EXPECT_EQ(report.checkpoints->lost_parts, 1);
    EXPECT_GT(report.checkpoints->lost_seconds, 0.0);
    EXPECT_LE(report.checkpoints->lost_seconds, 5.0);
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, CheckpointsOfARun, ::testing::Values(1, 3));

const ActivationParts no_activations = [] { return std::nullopt; };

TEST(CheckpointKeeper, WhatLeavesNoLessToDoIsNotWritten) {
  const TemporaryDirectory directory;
  const std::string path = (directory / "run").string();
  Checkpoint begin;
  begin.depth = 4;
  begin.known.active.assign(4, 0);
  begin.left_in_file = 8;
  CheckpointKeeper keeper(path, begin, {});
  Checkpoint now = begin;
  now.left = {{0, {0, 1}, {}}};
  keeper.keep(now, no_activations);
  EXPECT_FALSE(fs::exists(path));
  now.left = {{0, {1}, {}}};
  keeper.keep(now, no_activations);
  EXPECT_TRUE(fs::exists(path));
  EXPECT_EQ(keeper.costs().written, 1);
  EXPECT_EQ(keeper.costs().bytes, fs::file_size(path));
  EXPECT_EQ(keeper.begin().left_in_file, 4U);
  // Not at a stop either: the file is ahead, as the work in progress could not be kept.
  fs::remove(path);
  std::ofstream(path) << "further";
  now.left = {{0, {0, 1}, {}}};
  EXPECT_EQ(keeper.finish(now, no_activations), "");
  EXPECT_EQ(fs::file_size(path), 7U);
}

TEST(CheckpointKeeper, WhereItCannotBeWrittenTheRunGoesOnAndIsWarnedOnce) {
  const TemporaryDirectory directory;
  const std::string path = (directory / "run").string();
  fs::create_directory(path);
  Checkpoint begin;
  begin.depth = 4;
  begin.left_in_file = 8;
  std::vector<std::string> warnings;
  CheckpointKeeper keeper(path, begin, [&](const std::string& text) { warnings.push_back(text); });
  Checkpoint now = begin;
  now.left = {{0, {1}, {}}};
  keeper.keep(now, no_activations);
  keeper.keep(now, no_activations);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_TRUE(warnings[0].starts_with(path + ": ") && warnings[0].ends_with("; the run goes on")) << warnings[0];
  ASSERT_EQ(keeper.notes().size(), 1U);
  EXPECT_TRUE(keeper.notes()[0].starts_with("2 checkpoints could not be written: ")) << keeper.notes()[0];
  EXPECT_EQ(keeper.costs().written, 0);
  EXPECT_EQ(keeper.begin().left_in_file, 8U);
}

}  // namespace
}  // namespace spdnn
