// Images that the ranks of a node take batch by batch from a counter: each is run once, and the outcome equals that of
// fixed shares. Ranks are threads here.

#include "inference/ranks/node_images.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <functional>
#include <numeric>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cluster/together.hpp"
#include "core/threads/parallel.hpp"
#include "inference/ranks/inference_on_ranks.hpp"
#include "spdnn/error.hpp"
#include "support/battery.hpp"
#include "support/equal.hpp"
#include "support/sampled.hpp"
#include "support/thread_ranks.hpp"

namespace spdnn {
namespace {

using testing::make_matrix;
using testing::Rows;

TEST(TakenOrder, HasEachImageOnceAndSpreadsWhatLiesSideBySide) {
  const auto has_each_once = [](Index images, int ranks) {
    std::vector<Index> order = taken_order(images, ranks);
    std::sort(order.begin(), order.end());
    std::vector<Index> all(images);
    std::iota(all.begin(), all.end(), Index{0});
    return order == all;
  };
  for (const int ranks : {1, 2, 7, 64})
    for (const Index images : {0U, 1U, 5U, 100U, 1000U, 60000U})
      EXPECT_TRUE(has_each_once(images, ranks)) << images << " images, " << ranks << " ranks";
  for (Index blocks = 32; blocks <= 132; ++blocks) {
    const Index images = 32 * blocks;
    ASSERT_EQ(dealt_block(images, 2), 32U);
    EXPECT_TRUE(has_each_once(images, 2)) << blocks << " blocks";
  }
  constexpr Index kImages = 60000;
  constexpr Index kWindow = 2400;
  for (const int ranks : {2, 7, 13}) {
    const std::vector<Index> order = taken_order(kImages, ranks);
    for (Index first = 0; first < kImages; first += kWindow) {
      const auto begin = order.begin() + first;
      const auto low = std::count_if(begin, begin + kWindow, [](Index image) { return image < kImages / 10; });
      EXPECT_GT(low, kWindow / 20) << "from " << first << " on";
      EXPECT_LT(low, kWindow / 5) << "from " << first << " on";
    }
  }
}

/// A rank in a container of its own, which finds no process with the leader's number.
class ContainedRank final : public testing::ThreadRank {
 public:
  using ThreadRank::ThreadRank;
  void broadcast(std::span<std::byte> bytes, Group group) override {
    ThreadRank::broadcast(bytes, group);
    const bool of_leader = group == Group::node && bytes.size() == 4 * sizeof(long);  // its process, and more
    if (of_leader && !is_root()) std::memset(bytes.data(), 0, sizeof(long));
  }
};

std::vector<ImageSet> image_sets() {
  testing::Rng rng(3);
  Rows rows(56);  // one offset more than fills whole units of 64 bytes
  for (Index i = 0; i < rows.size(); ++i)
    for (Index j = i % 3; j < 20 && i % 4 != 0; j += i % 5 + 1)
      rows[i].emplace_back(j, 1.0F + static_cast<float>(j) / 4);
  CsrMatrix same = make_matrix(20, rows);
  same.values = {};
  same.value = 2.0F;
  return {testing::bit_images(rng, 3000, 70, 0.3), ImageSet{make_matrix(20, rows)}, ImageSet{same},
          ImageSet{make_matrix(9, Rows(5))}, ImageSet{make_matrix(4, {{{1, 2.0F}}})}};
}

TEST(NodeImages, AreThoseOfAllRanksAndEachIsTakenOnceInEachRun) {
  for (const ImageSet& all : image_sets())
    for (const int ranks : {1, 2, 3, 7}) {
      SCOPED_TRACE(std::to_string(all.images()) + " images on " + std::to_string(ranks) + " ranks");
      using Runs = std::array<std::vector<std::atomic<int>>, 2>;
      const auto runs = [&] {
        return Runs{std::vector<std::atomic<int>>(all.images()), std::vector<std::atomic<int>>(all.images())};
      };
      Runs taken = runs();
      Runs taken_in_parts = runs();
      const auto work = [&](Communicator& rank) {
        const Owners owners = dealt_owners(all.images(), ranks);
        const ImageSet mine = all.select(ids_of(owners, rank.place().rank));
        const auto node = NodeImages::gather(rank, mine, owners);
        ASSERT_NE(node, nullptr);
        testing::expect_equal(node->images().to_csr(), all.select(node->ids()).to_csr());
        testing::expect_equal(node->given().to_csr(), mine.to_csr());
        for (std::vector<std::atomic<int>>& run : taken) {
          node->restart();
          rank.barrier();
          for (;;) {
            const ImageRange batch = node->take({.least = 32, .most = 300});
            EXPECT_LE(batch.count, std::min<Index>(300, node->largest(32)));
            if (batch.count == 0) break;
            for (Index i = 0; i < batch.count; ++i) ++run[node->ids()[batch.first + i]];
          }
          rank.barrier();
        }
        for (std::vector<std::atomic<int>>& run : taken_in_parts) {
          node->restart();
          rank.barrier();
          for (Index part = node->take_part(all.images()); part < all.images(); part = node->take_part(all.images()))
            ++run[part];
          rank.barrier();
        }
      };
      for (const auto& thrown : testing::on_ranks(ranks, work)) EXPECT_EQ(thrown, nullptr);
      for (const Runs& each : {std::cref(taken), std::cref(taken_in_parts)})
        for (const std::vector<std::atomic<int>>& run : each)
          EXPECT_TRUE(std::all_of(run.begin(), run.end(), [](const std::atomic<int>& times) { return times == 1; }));
    }
}

TEST(NodeImages, OfWhichEachRankHasOneValueKeepTheirOwn) {
  const auto images_of = [](float value) {
    CsrMatrix rows = make_matrix(3, {{{0, 1.F}, {2, 1.F}}, {{1, 1.F}}});
    rows.values = {};
    rows.value = value;
    return ImageSet{rows};
  };
  const auto work = [&](Communicator& rank) {
    for (const float other : {2.0F, 5.0F}) {
      const auto node = NodeImages::gather(rank, images_of(rank.is_root() ? 2.0F : other), {0, 0, 1, 1});
      ASSERT_NE(node, nullptr);
      const CsrMatrix all = node->images().to_csr();
      EXPECT_EQ(all.uniform(), other == 2.0F);
      for (Index image = 0; image < 4; ++image)
        EXPECT_EQ(all.entry_value(all.offsets[image]), node->ids()[image] < 2 ? 2.0F : other);
    }
  };
  for (const auto& thrown : testing::on_ranks(2, work)) EXPECT_EQ(thrown, nullptr);
}

/// The number of images that each of three ranks takes of 3000, with `take` until it returns 0, if rank 1 continues
/// after its first only when the others are done.
template <class Take>
std::array<Index, 3> taken_beside_a_slow_rank(Take take) {
  constexpr int kRanks = 3;
  testing::Rng rng(3);
  const ImageSet all = testing::bit_images(rng, 3000, 70, 0.3);
  std::array<Index, kRanks> taken{};
  std::atomic<int> done = 0;
  const auto work = [&](Communicator& rank) {
    const Owners owners = dealt_owners(all.images(), kRanks);
    const auto node = NodeImages::gather(rank, all.select(ids_of(owners, rank.place().rank)), owners);
    node->restart();
    rank.barrier();
    const bool slow = rank.place().rank == 1;
    for (Index count = take(*node); count > 0; count = take(*node)) {
      taken[static_cast<std::size_t>(rank.place().rank)] += count;
      while (slow && done < kRanks - 1) std::this_thread::yield();
    }
    ++done;
  };
  for (const auto& thrown : testing::on_ranks(kRanks, work)) EXPECT_EQ(thrown, nullptr);
  return taken;
}

TEST(NodeImages, ARankThatIsNotDoneHasNoMoreThanItHasTaken) {
  const auto taken = taken_beside_a_slow_rank([](NodeImages& node) { return node.take({32, 3000}).count; });
  EXPECT_EQ(taken[1], 224U);
  EXPECT_EQ(taken[0] + taken[2], 2776U);
}

TEST(NodeImages, OfPartsARankThatIsNotDoneHasNoMoreThanItHasTaken) {
  constexpr Index kParts = 94;
  const auto taken =
      taken_beside_a_slow_rank([](NodeImages& node) -> Index { return node.take_part(kParts) < kParts ? 1 : 0; });
  EXPECT_EQ(taken[1], kParts / 12) << "with what each rank begins";
  EXPECT_EQ(taken[0] + taken[2], kParts - taken[1]);
}

/// Whatever the number of images that a rank wants at once, later ranks find some.
TEST(NodeImages, ARankLeavesHalfOfWhatIsNotTakenToOthers) {
  constexpr Index kImages = 3000;
  testing::Rng rng(5);
  const ImageSet all = testing::bit_images(rng, kImages, 70, 0.3);
  const auto work = [&](Communicator& rank) {
    const Owners owners = dealt_owners(kImages, 2);
    const auto node = NodeImages::gather(rank, all.select(ids_of(owners, rank.place().rank)), owners);
    node->restart();
    rank.barrier();
    if (rank.place().rank == 0) {
      const Index left = kImages - 2 * node->take({32, kImages}).count;
      const ImageRange more = node->take({32, kImages});
      EXPECT_GT(more.count, 0U);
      EXPECT_LE(more.count, left / 2);
    }
    rank.barrier();
  };
  for (const auto& thrown : testing::on_ranks(2, work)) EXPECT_EQ(thrown, nullptr);
}

TEST(NodeImages, RanksThatDoNotReachOneMemoryHaveNone) {
  const ImageSet all = image_sets()[0];
  const auto work = [&](Communicator& rank) {
    const Owners owners = dealt_owners(all.images(), 3);
    EXPECT_EQ(NodeImages::gather(rank, all.select(ids_of(owners, rank.place().rank)), owners), nullptr);
  };
  for (const auto& thrown : testing::on_ranks<ContainedRank>(3, work)) EXPECT_EQ(thrown, nullptr);
}

class DealtRuns : public ::testing::Test {
 protected:
  /// The root's report; with `slow`, rank 1 sleeps before each tile of images and layers.
  template <class Rank = testing::ThreadRank>
  Report report(int ranks, InferenceSpec spec, bool slow = false) {
    Report found;
    spec.variant = "cpu_openmp";
    spec.threads = 1;
    spec.truth.everything = true;
    const auto work = [&](Communicator& rank) {
      InferenceSpec own = spec;
      if (slow && rank.place().rank == 1)
        own.cancelled = [] {
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
          return false;
        };
      InferenceOnRanks inference(own, rank);
      if (rank.is_root())
        inference.load(network_, images_);
      else
        inference.load();
      inference.plan();
      inference.run();
      inference.verify();
      if (rank.is_root()) found = inference.report();
      rank.barrier();
    };
    thrown_.clear();
    for (const auto& thrown : testing::on_ranks<Rank>(ranks, work)) {
      try {
        if (thrown) std::rethrow_exception(thrown);
      } catch (const RanksFailed& failed) {
        try {
          if (failed.own) std::rethrow_exception(failed.own);
        } catch (const DeviceError& error) {
          thrown_ = error.what();
        }
      }
    }
    return found;
  }

  Network network_ = testing::deep_network(12);
  testing::Rng rng_{8};
  ImageSet images_ = testing::bit_images(rng_, 1000, 64, 0.4);
  std::string thrown_;
};

TEST_F(DealtRuns, HaveTheOutcomeOfOneProcessWhoeverRanWhat) {
  InferenceSpec spec;
  spec.activations = true;
  const Report alone = report(1, spec);
  const std::string note = "the ranks' shares are fixed: the pass identical leaves little work that could move";
  ASSERT_GT(alone.outcome.categories.size(), 50U);
  EXPECT_FALSE(alone.ranks);
  std::size_t number = 0;
  for (const Deal deal : {Deal::automatic, Deal::fixed, Deal::counter})
    for (const int ranks : {2, 3, 7})
      for (const auto& [passes, activations] :
           {std::pair{"dead", true}, {"dead", false}, {"all", true}, {"all", false}}) {
        if (number++ % testing::sampled(3U, 1U) != 0) continue;
        SCOPED_TRACE(std::to_string(ranks) + " ranks, --reduce " + passes);
        spec.activations = activations;
        spec.deal = deal;
        spec.passes = parse_passes(passes);
        spec.batch = ranks == 2 ? 50 : 0;
        spec.trials = ranks == 3 ? 2 : 1;
        spec.compare = ranks == 3;
        const Report found = report(ranks, spec, ranks == 7);
        EXPECT_EQ(found.outcome.categories, alone.outcome.categories);
        EXPECT_EQ(found.outcome.alive, alone.outcome.alive);
        if (activations) testing::expect_equal(*found.outcome.activations, *alone.outcome.activations);
        EXPECT_EQ(found.verdict.status, Verdict::Status::passed);
        ASSERT_TRUE(found.ranks);
        EXPECT_EQ(found.ranks->images.sum, 1000);
        const bool stays_fixed = deal == Deal::automatic && spec.passes.identical;
        ASSERT_EQ(found.ranks->taken.has_value(), deal != Deal::fixed && !stays_fixed);
        EXPECT_GE(found.ranks->taken.value_or(Spread{.min = 1}).min, 1);
        EXPECT_EQ(std::count(found.notes.begin(), found.notes.end(), note), stays_fixed ? 1 : 0);
      }
}

/// On three nodes, the last of which has one rank.
TEST_F(DealtRuns, OnSeveralNodesEachNodeTakesItsOwnImages) {
  InferenceSpec spec;
  spec.activations = true;
  spec.passes = parse_passes("dead");
  const Report alone = report(1, spec);
  for (const Deal deal : {Deal::automatic, Deal::fixed, Deal::counter}) {
    spec.deal = deal;
    const Report found = report<testing::RankOfTwo>(5, spec);
    EXPECT_EQ(thrown_, "");
    EXPECT_EQ(found.outcome.categories, alone.outcome.categories);
    EXPECT_EQ(found.outcome.alive, alone.outcome.alive);
    testing::expect_equal(*found.outcome.activations, *alone.outcome.activations);
    EXPECT_EQ(found.verdict.status, Verdict::Status::passed);
    EXPECT_EQ(found.ranks->images.sum, 1000);
    EXPECT_EQ(found.ranks->taken.has_value(), deal != Deal::fixed);
  }
}

TEST(NodeImages, OfANodeAreThoseThatItsRanksHaveGiven) {
  for (const ImageSet& all : image_sets()) {
    std::vector<std::atomic<int>> taken(all.images());
    std::atomic<Index> parts = 0;
    const auto work = [&](Communicator& rank) {
      const Owners owners = dealt_owners(all.images(), 5);
      const ImageSet mine = all.select(ids_of(owners, rank.place().rank));
      const auto node = NodeImages::gather(rank, mine, owners);
      ASSERT_NE(node, nullptr);
      EXPECT_EQ(node->sharers(), rank.place().node_ranks);
      for (const Index id : node->ids()) EXPECT_EQ(owners[id] / 2, rank.place().rank / 2);
      testing::expect_equal(node->images().to_csr(), all.select(node->ids()).to_csr());
      testing::expect_equal(node->given().to_csr(), mine.to_csr());
      EXPECT_TRUE(node->ids().empty() || node->images().is_bits() == all.is_bits());
      node->restart();
      rank.barrier();
      for (ImageRange batch = node->take({1, 50}); batch.count > 0; batch = node->take({1, 50})) {
        EXPECT_LE(batch.count, 50U);
        for (Index i = 0; i < batch.count; ++i) ++taken[node->ids()[batch.first + i]];
      }
      rank.barrier();
      node->restart();
      rank.barrier();
      while (node->take_part(40) < 40) ++parts;
      rank.barrier();
    };
    const ThreadLimit limit(1);
    for (const auto& thrown : testing::on_ranks<testing::RankOfTwo>(5, work)) EXPECT_EQ(thrown, nullptr);
    EXPECT_TRUE(std::all_of(taken.begin(), taken.end(), [](const std::atomic<int>& times) { return times == 1; }));
    EXPECT_EQ(parts, 3 * 40) << "of each node all";
  }
}

TEST_F(DealtRuns, MoreRanksThanImages) {
  InferenceSpec spec;
  spec.deal = Deal::counter;
  images_ = images_.slice(0, 3);
  const Categories expected = report(1, spec).outcome.categories;
  const Report found = report(5, spec);
  EXPECT_EQ(found.outcome.categories, expected);
  EXPECT_EQ(found.ranks->images.sum, 3);
}

TEST_F(DealtRuns, WithoutSharedMemorySharesAreFixedAndACounterIsRefused) {
  InferenceSpec spec;
  spec.passes = parse_passes("dead");
  const Categories expected = report(1, spec).outcome.categories;
  const Report found = report<ContainedRank>(3, spec);
  EXPECT_EQ(found.outcome.categories, expected);
  EXPECT_FALSE(found.ranks->taken);
  EXPECT_EQ(found.notes.front(), "the ranks' shares are fixed: ranks of a node cannot share memory");
  spec.deal = Deal::counter;
  report<ContainedRank>(3, spec);
  EXPECT_EQ(thrown_, "deal: ranks of a node cannot share memory");
}

TEST_F(DealtRuns, ACounterDoesNotGoWithACheckpoint) {
  InferenceSpec spec;
  spec.checkpoint = "never written";
  spec.deal = Deal::counter;
  EXPECT_THROW(Inference{spec}, UsageError);
}

}  // namespace
}  // namespace spdnn
