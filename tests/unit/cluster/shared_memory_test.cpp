// Memory that the ranks of a node share: large arrays, and ranks that cannot reach it. Ranks are threads here.

#include "cluster/shared_memory.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cluster/exchange.hpp"
#include "cluster/shared_plan.hpp"
#include "cluster/together.hpp"
#include "core/threads/parallel.hpp"
#include "support/battery.hpp"
#include "support/equal.hpp"
#include "support/thread_ranks.hpp"

namespace spdnn {
namespace {

/// The leader's process, descriptor, device and inode, as it sends them to the other ranks of its node.
using FileOfLeader = std::array<long, 4>;

/// Simulates a rank in a container of its own, which finds another file than the leader's, or none: it changes what it
/// hears of the leader's.
class SecludedRank final : public testing::ThreadRank {
 public:
  static inline std::function<void(FileOfLeader&)> change;
  using ThreadRank::ThreadRank;
  void broadcast(std::span<std::byte> bytes, Group group) override {
    ThreadRank::broadcast(bytes, group);
    FileOfLeader of_leader{};
    if (group != Group::node || place().rank != 1 || bytes.size() != sizeof(of_leader)) return;
    std::memcpy(of_leader.data(), bytes.data(), bytes.size());
    change(of_leader);
    std::memcpy(bytes.data(), of_leader.data(), bytes.size());
  }
};

TEST(SharedMemory, ArraysOfAnySizeArriveWholeWithFewAndManyThreads) {
  constexpr std::size_t kBegin = 192;
  constexpr std::size_t kBytes = (std::size_t{130} << 20U) + 77;  // more than twice what is written at a time
  std::vector<std::uint64_t> words(kBytes / sizeof(std::uint64_t) + 1);
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = i * 0x9E3779B97F4A7C15U;
  const auto bytes = std::as_bytes(std::span(words)).first(kBytes);
  for (const int threads : {1, 4}) {
    const ThreadLimit limit(threads);
    std::array<bool, 3> right{};
    const auto work = [&](Communicator& ranks) {
      SharedMemory memory(ranks, kBegin + kBytes);
      EXPECT_TRUE(memory.is_shared());
      const std::vector<SharedMemory::Piece> pieces{{kBegin, bytes, nullptr}};
      const ThreadLimit own(threads);
      if (ranks.is_root()) memory.write(pieces);
      ranks.barrier();
      memory.fetch();
      right[static_cast<std::size_t>(ranks.place().rank)] =
          std::memcmp(bytes.data(), memory.data() + kBegin, kBytes) == 0;
    };
    for (const auto& thrown : testing::on_ranks(3, work)) EXPECT_EQ(thrown, nullptr);
    EXPECT_EQ(right, (std::array{true, true, true})) << threads << " threads";
  }
}

void share_with_secluded_rank(std::function<void(FileOfLeader&)> change) {
  SecludedRank::change = std::move(change);
  testing::Rng rng(5);
  const Plan plan = testing::unreduced_plan(testing::random_network(rng, 32, 5, 4, -0.1));
  std::array<Plan, 3> found;
  const auto work = [&](Communicator& ranks) {
    SharedMemory memory(ranks, 4096);
    EXPECT_FALSE(memory.is_shared()) << "rank " << ranks.place().rank;
    ASSERT_NE(memory.data(), nullptr);
    const auto own = static_cast<std::byte>(ranks.place().rank);
    memory.data()[0] = memory.data()[4095] = own;
    if (!ranks.all(!memory.is_shared(), Communicator::Group::job)) return;  // otherwise they would deadlock
    EXPECT_TRUE(memory.data()[0] == own && memory.data()[4095] == own) << "another rank's memory";
    found[static_cast<std::size_t>(ranks.place().rank)] = share_plan(ranks, ranks.is_root() ? plan : Plan{});
  };
  for (const auto& thrown : testing::on_ranks<SecludedRank>(3, work)) EXPECT_EQ(thrown, nullptr);
  for (const Plan& one : found) testing::expect_equal(one.layers, plan.layers);
  ASSERT_FALSE(::testing::Test::HasFailure());
  EXPECT_NE(found[0].layers[0].weights.indices.data(), found[1].layers[0].weights.indices.data());
}

TEST(SharedMemory, WhereOneRankCannotReachItAllHaveTheirOwn) {
  share_with_secluded_rank([](FileOfLeader& file) { file[0] = 0; });
}

TEST(SharedMemory, AnotherFileUnderTheLeadersNumbersIsNotTakenForIts) {
  const Descriptor other(::memfd_create("other", MFD_CLOEXEC));
  ASSERT_EQ(::ftruncate(other.get(), 1 << 20), 0);
  share_with_secluded_rank([&](FileOfLeader& file) { file[1] = other.get(); });
  share_with_secluded_rank([](FileOfLeader& file) { ++file[2]; });
  share_with_secluded_rank([](FileOfLeader& file) { ++file[3]; });
}

#ifndef __SANITIZE_ADDRESS__  // which ends the program
TEST(SharedMemory, MoreThanAnyMachineHasIsRefusedOnAllRanks) {
  for (const auto& thrown :
       testing::on_ranks(2, [](Communicator& ranks) { SharedMemory(ranks, std::size_t{1} << 55U); })) {
    ASSERT_NE(thrown, nullptr);
    EXPECT_THROW(std::rethrow_exception(thrown), RanksFailed);
  }
}
#endif

TEST(SharedMemory, EachNodeHasItsOwn) {
  const auto work = [](Communicator& ranks) {
    SharedMemory memory(ranks, 100);
    EXPECT_EQ(memory.is_shared(), ranks.place().node_ranks > 1);
    const auto mine = static_cast<std::byte>(ranks.place().rank);
    const std::vector<SharedMemory::Piece> pieces{{99, std::span(&mine, 1), nullptr}};
    if (ranks.leads_node()) memory.write(pieces);
    ranks.barrier();
    EXPECT_EQ(memory.data()[99], static_cast<std::byte>(ranks.place().rank / 2 * 2)) << "of the leader";
  };
  for (const auto& thrown : testing::on_ranks<testing::RankOfTwo>(5, work)) EXPECT_EQ(thrown, nullptr);
}

/// Counts the calls of the root.
class CallCounter final : public testing::ThreadRank {
 public:
  static inline int broadcasts = 0;
  static inline int waits = 0;
  using ThreadRank::ThreadRank;
  void broadcast(std::span<std::byte> bytes, Group group) override {
    if (is_root()) ++broadcasts;
    ThreadRank::broadcast(bytes, group);
  }
  bool all(bool mine, Group group) override {
    const int before = broadcasts;
    const bool result = ThreadRank::all(mine, group);
    if (is_root()) broadcasts = before;
    if (is_root()) ++waits;
    return result;
  }
  static void reset() { broadcasts = waits = 0; }
};

TEST(Broadcast, AShortValueTakesOneMessageAndALongOneTwo) {
  for (const std::size_t size : {0U, 10U, 1900U, 2040U, 2100U, 100000U}) {
    std::string text(size, 'a');
    for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>('a' + i % 23);
    CallCounter::reset();
    const auto work = [&](Communicator& ranks) { EXPECT_EQ(broadcast(ranks, ranks.is_root() ? text : ""), text); };
    for (const auto& thrown : testing::on_ranks<CallCounter>(3, work)) EXPECT_EQ(thrown, nullptr);
    EXPECT_EQ(CallCounter::broadcasts, size < 2000 ? 1 : 2) << size;
  }
}

TEST(SharePlan, OnOneNodeRanksWaitForAllOthersTwice) {
  testing::Rng rng(5);
  const Plan plan = testing::unreduced_plan(testing::random_network(rng, 32, 2, 4, -0.1));
  CallCounter::reset();
  const auto work = [&](Communicator& ranks) {
    testing::expect_equal(share_plan(ranks, ranks.is_root() ? plan : Plan{}).layers, plan.layers);
  };
  for (const auto& thrown : testing::on_ranks<CallCounter>(3, work)) EXPECT_EQ(thrown, nullptr);
  EXPECT_EQ(CallCounter::waits, 2);
  EXPECT_EQ(CallCounter::broadcasts, 3) << "the plan, the place of its memory, and to the leaders of other nodes";
}

/// A leader that, before it goes on with the plan, lets the other rank wait for it or end.
class LateLeader final : public testing::ThreadRank {
 public:
  static inline std::atomic<int> steps;  ///< of the other rank: its waits for the node, and its end
  static inline std::atomic<bool> ended;
  using ThreadRank::ThreadRank;
  void broadcast(std::span<std::byte> bytes, Group group) override {
    constexpr int kSteps = 2;  // the first is taken while memory is shared
    if (group == Group::leaders)
      for (int seen = steps; seen < kSteps; seen = steps) steps.wait(seen);
    EXPECT_FALSE(ended && is_root()) << "the other rank has not waited";
    ThreadRank::broadcast(bytes, group);
  }
  bool all(bool mine, Group group) override {
    if (group == Group::node && !is_root()) step();
    return ThreadRank::all(mine, group);
  }
  static void step() {
    ++steps;
    steps.notify_all();
  }
};

TEST(SharedMemory, RanksWaitForThePlanOfTheirLeader) {
  testing::Rng rng(5);
  const Plan plan = testing::unreduced_plan(testing::random_network(rng, 32, 5, 4, -0.1));
  LateLeader::steps = 0;
  LateLeader::ended = false;
  const auto work = [&](Communicator& ranks) {
    const Plan own = share_plan(ranks, ranks.is_root() ? plan : Plan{});
    if (ranks.is_root()) return;
    LateLeader::ended = true;
    LateLeader::step();
    testing::expect_equal(own.layers, plan.layers);
  };
  for (const auto& thrown : testing::on_ranks<LateLeader>(2, work)) EXPECT_EQ(thrown, nullptr);
}

}  // namespace
}  // namespace spdnn
