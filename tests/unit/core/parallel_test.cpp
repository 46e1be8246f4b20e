#include "core/threads/parallel.hpp"

#include <gtest/gtest.h>
#include <omp.h>
#include <pthread.h>

#include <atomic>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/message_of.hpp"

namespace spdnn {
namespace {

TEST(Parallel, EachMemberOfATeamIsWorkedForOnceByItsThreadOrTheCallers) {
  const std::thread::id caller = std::this_thread::get_id();
  for (int turn = 0; turn < 100; ++turn)
    for (const int threads : {1, 3, 64, 2, 0}) {
      std::vector<std::atomic<int>> calls(static_cast<std::size_t>(threads));
      run_team(threads, [&](int member, int thread) {
        ++calls[static_cast<std::size_t>(member)];
        EXPECT_TRUE(thread == member || thread == 0);
        EXPECT_EQ(thread == 0, std::this_thread::get_id() == caller);
      });
      for (const auto& count : calls) EXPECT_EQ(count, 1);
    }
}

TEST(Parallel, ThreadsOfATeamWorkSideBySide) {
  std::atomic<int> there = 0;
  run_team(3, [&](int member, int thread) {
    EXPECT_EQ(thread, member);
    ++there;
    while (there < 3) std::this_thread::yield();
  });
  EXPECT_EQ(there, 3);
}

TEST(Parallel, ATeamWithinATeamIsOneThread) {
  const int threads_before = omp_get_max_threads();
  omp_set_num_threads(5);
  std::atomic<int> calls = 0;
  run_team(2, [&](int, int) {
    const std::thread::id caller = std::this_thread::get_id();
    EXPECT_EQ(omp_get_max_threads(), 1);
    run_team(3, [&](int, int thread) {
      ++calls;
      EXPECT_EQ(thread, 0);
      EXPECT_EQ(std::this_thread::get_id(), caller);
    });
  });
  EXPECT_EQ(calls, 6);
  EXPECT_EQ(omp_get_max_threads(), 5);
  omp_set_num_threads(threads_before);
}

TEST(Parallel, MembersWhoseThreadsAreRefusedAreWorkedForToo) {
  std::vector<int> by(4, -1);
  std::thread([&by] {  // which has started no thread yet
    pthread_attr_t before;
    pthread_attr_t endless;
    ASSERT_EQ(pthread_getattr_default_np(&before), 0);
    ASSERT_EQ(pthread_getattr_default_np(&endless), 0);
    ASSERT_EQ(pthread_attr_setstacksize(&endless, std::size_t{1} << 48), 0);
    ASSERT_EQ(pthread_setattr_default_np(&endless), 0);
    run_team(4, [&](int member, int thread) { by[static_cast<std::size_t>(member)] = thread; });
    EXPECT_EQ(pthread_setattr_default_np(&before), 0);
  })
      .join();
  EXPECT_EQ(by, (std::vector{0, 0, 0, 0}));
}

/// A process that was forked has the memory of the other's team, but none of its threads.
TEST(Parallel, ThreadsThatNeverComeAreNotWaitedFor) {
  run_team(3, [](int, int) {});
  const auto count_and_leave = [] {
    std::vector<int> by(3, -1);
    run_team(3, [&](int member, int thread) { by[static_cast<std::size_t>(member)] = thread; });
    std::exit(by == std::vector{0, 0, 0} ? 7 : 1);
  };
  EXPECT_EXIT(count_and_leave(), ::testing::ExitedWithCode(7), "");
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
