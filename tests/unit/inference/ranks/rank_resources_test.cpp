// Resources of a machine that ranks share. Ranks are threads here, and devices are names.

#include "inference/ranks/rank_resources.hpp"

#include <gtest/gtest.h>
#include <omp.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <string>
#include <vector>

#include "cluster/together.hpp"
#include "core/threads/parallel.hpp"
#include "core/threads/thread_quota.hpp"
#include "inference/ranks/share_and_run.hpp"
#include "spdnn/error.hpp"
#include "support/thread_ranks.hpp"

namespace spdnn {
namespace {

constexpr std::size_t kRanks = 4;

TEST(SharersOf, RanksThatHaveTheSameAreCountedForEachThing) {
  const std::array<std::vector<std::string>, kRanks> things{{{"a", "x"}, {"b", "x"}, {"a", "y"}, {"a", "x"}}};
  std::array<std::vector<int>, kRanks> sharers;
  const auto work = [&](Communicator& rank) {
    const auto number = static_cast<std::size_t>(rank.place().rank);
    sharers[number] = sharers_of(rank, things[number]);
  };
  for (const auto& thrown : testing::on_ranks(kRanks, work)) EXPECT_EQ(thrown, nullptr);
  EXPECT_EQ(sharers, (std::array<std::vector<int>, kRanks>{{{3, 3}, {1, 3}, {3, 1}, {3, 3}}}));
}

TEST(SharersOf, RanksOnAnotherHostHaveThingsOfTheirOwn) {
  constexpr std::size_t kOnTwoHosts = 5;
  std::atomic<bool> allowed = true;
  std::array<int, kOnTwoHosts> sharers{};
  const auto work = [&](Communicator& rank) {
    const auto number = static_cast<std::size_t>(rank.place().rank);
    // A thread may have another host's name.
    if (number % 2 == 1 && (::unshare(CLONE_NEWUTS) != 0 || ::sethostname("other", 5) != 0)) allowed = false;
    rank.barrier();
    if (allowed) sharers[number] = sharers_of(rank, {"a"}).front();
  };
  for (const auto& thrown : testing::on_ranks(kOnTwoHosts, work)) EXPECT_EQ(thrown, nullptr);
  if (!allowed) GTEST_SKIP() << "needs the right to give a thread a host name of its own";
  EXPECT_EQ(sharers, (std::array<int, kOnTwoHosts>{3, 2, 3, 2, 3}));
}

TEST(ThreadsOf, RanksDivideTheProcessorsThatTheyShareUnlessTheyAreTold) {
  const auto work = [](Communicator& rank) {
    EXPECT_LE(threads_of(rank, 0), std::max(1, omp_get_num_procs() / static_cast<int>(kRanks)));
    EXPECT_EQ(threads_of(rank, 3), 3);
  };
  for (const auto& thrown : testing::on_ranks(kRanks, work)) EXPECT_EQ(thrown, nullptr);
}

/// What a rank's run would report: the threads that it may use.
struct Threads {
  int number = 0;
  double gather_seconds = 0;
};

TEST(RunAndGather, RanksKeepToTheirThreadsFromReadyToGather) {
  const ThreadLimit restored(kMostThreads);  // the limit is of the process, which ranks that are threads share
  const auto threads_of_runs = [](int asked) {
    std::array<std::array<int, 3>, 2> seen{};
    const auto work = [&](Communicator& rank) {
      std::array<int, 3>& mine = seen[static_cast<std::size_t>(rank.place().rank)];
      const auto run = [&](const RankShare& share) {
        EXPECT_EQ(share.cpu_sharers, 2);
        return Ranked<Threads>{{.number = host_threads()}, {}};
      };
      const auto gather = [&](const Ranked<Threads>& all) {
        mine[1] = all.result.number;
        mine[2] = host_threads();
        rank.barrier();
      };
      const Ranked<Threads> all = run_and_gather(
          rank, {.threads = asked}, [&] { mine[0] = host_threads(); }, run, gather);
      EXPECT_GT(all.result.gather_seconds, 0);
    };
    for (const auto& thrown : testing::on_ranks(2, work)) EXPECT_EQ(thrown, nullptr);
    return seen;
  };
  EXPECT_EQ(threads_of_runs(1), (std::array<std::array<int, 3>, 2>{{{1, 1, 1}, {1, 1, 1}}}));
  const int own = std::min(host_threads(), part_of_threads(omp_get_num_procs(), 2, processor_quota(), 2));
  EXPECT_EQ(threads_of_runs(0), (std::array<std::array<int, 3>, 2>{{{own, own, own}, {own, own, own}}}));
}

/// Each rank's result: the number of ranks on its device, its error, or that another rank has one.
std::array<std::string, kRanks> found(const std::array<UsedDevice, kRanks>& devices, bool may_share) {
  std::array<std::string, kRanks> all;
  const auto work = [&](Communicator& rank) {
    const auto number = static_cast<std::size_t>(rank.place().rank);
    std::string& mine = all[number];
    try {
      mine = std::to_string(sharers_of_device(rank, devices[number], may_share));
    } catch (const RanksFailed& failed) {
      mine = "another rank failed";
      try {
        if (failed.own) std::rethrow_exception(failed.own);
      } catch (const DeviceError& error) {
        mine = error.what();
      }
    }
  };
  for (const auto& thrown : testing::on_ranks(kRanks, work)) EXPECT_EQ(thrown, nullptr);
  return all;
}

TEST(SharersOfDevice, MoreRanksThanDevicesAreRefusedUnlessTheyMayShare) {
  const std::array<UsedDevice, kRanks> three{{{"a", 3}, {"b", 3}, {"c", 3}, {"a", 3}}};
  const std::string refused =
      "2 of the 4 ranks on this node run on one CUDA device, of 3 visible; expected a device for each rank: fewer "
      "ranks "
      "on a node, or more devices for them; or --share-devices";
  EXPECT_EQ(found(three, false),
            (std::array<std::string, kRanks>{refused, "another rank failed", "another rank failed", refused}));
  EXPECT_EQ(found(three, true), (std::array<std::string, kRanks>{"2", "1", "1", "2"}));
}

TEST(SharersOfDevice, RanksThatSeeOneDeviceEachHaveItForThemselves) {
  const std::array<UsedDevice, kRanks> own{{{"a", 1}, {"b", 1}, {"c", 1}, {"d", 1}}};
  EXPECT_EQ(found(own, false), (std::array<std::string, kRanks>{"1", "1", "1", "1"}));
}

TEST(SharersOfDevice, RanksOnProcessorsShareThemUnasked) {
  const auto work = [](Communicator& rank) { EXPECT_EQ(sharers_of_device(rank, Device::cpu, {}, false), 3); };
  for (const auto& thrown : testing::on_ranks(3, work)) EXPECT_EQ(thrown, nullptr);
}

}  // namespace
}  // namespace spdnn
