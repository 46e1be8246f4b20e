#include "core/threads/parallel.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/message_of.hpp"

namespace spdnn {
namespace {

TEST(Parallel, EveryMemberOfATeamWorksOnce) {
  for (const int threads : {1, 3, 64}) {
    std::vector<std::atomic<int>> calls(static_cast<std::size_t>(threads));
    std::atomic<int> team = 0;
    run_team(threads, [&](int member, int size) {
      ++calls[static_cast<std::size_t>(member)];
      team = size;
    });
    EXPECT_EQ(team, threads);
    for (const auto& count : calls) EXPECT_EQ(count, 1);
  }
}

TEST(Parallel, ATeamWithinATeamIsOneThread) {
  std::atomic<int> largest = 0;
  run_team(2, [&](int, int) { run_team(3, [&](int, int size) { largest = std::max(largest.load(), size); }); });
  EXPECT_EQ(largest, 1);
}

TEST(Parallel, TheFirstExceptionComesOutAndNothingIsBegunAfterIt) {
  std::atomic<int> calls = 0;
  const auto fail = [&](int member) {
    ++calls;
    if (member > 0) throw std::runtime_error(std::to_string(member));
  };
  EXPECT_EQ(testing::message_of<std::runtime_error>([&] { run_team(4, [&](int member, int) { fail(member); }); }), "1");
  EXPECT_EQ(calls, 4) << "a team is always whole";
  EXPECT_EQ(testing::message_of<std::runtime_error>(
                [&] { parallel_for(40, [&](std::size_t i) { fail(static_cast<int>(i)); }); }),
            "1");
  EXPECT_GE(calls, 6);
  EXPECT_LE(calls, 4 + 1 + host_threads()) << "each thread may have been at work";
}

TEST(Parallel, ALimitHoldsWhileItLives) {
  const int before = host_threads();
  {
    const ThreadLimit limit(0);
    EXPECT_EQ(host_threads(), 1);
    {
      const ThreadLimit inner(kMostThreads + 1);
      EXPECT_EQ(host_threads(), before);
    }
    EXPECT_EQ(host_threads(), 1);
    EXPECT_EQ(host_threads(2), 2) << "as asked for";
  }
  EXPECT_EQ(host_threads(), before);
}

TEST(Parallel, MoreThreadsThanTheMostAreNotGiven) {
  EXPECT_NO_THROW(require_threads(2));
  EXPECT_THROW(require_threads(kMostThreads + 1), std::exception);
}

}  // namespace
}  // namespace spdnn
