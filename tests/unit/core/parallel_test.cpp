#include "core/threads/parallel.hpp"

#include <gtest/gtest.h>
#include <omp.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "spdnn/error.hpp"
#include "support/message_of.hpp"
#include "support/refused_threads.hpp"

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
    const testing::RefusedThreads none;
    run_team(4, [&](int member, int thread) { by[static_cast<std::size_t>(member)] = thread; });
  })
      .join();
  EXPECT_EQ(by, (std::vector{0, 0, 0, 0}));
}

/// The numbers of the threads that work for the members, who wait for one another here to see that there are as many.
std::vector<int> side_by_side(int members) {
  std::vector<int> by(static_cast<std::size_t>(members), -1);
  std::atomic<int> there = 0;
  run_team(members, [&](int member, int thread) {
    by[static_cast<std::size_t>(member)] = thread;
    ++there;
    while (there < members) std::this_thread::yield();
  });
  return by;
}

TEST(Parallel, ThreadsOfATeamWorkSideBySide) { EXPECT_EQ(side_by_side(3), (std::vector{0, 1, 2})); }

/// OpenMP reads its limit when a process begins: the test begins anew in another one.
TEST(Parallel, ATeamHasNoMoreThreadsThanOpenMpMayHave) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  ::setenv("OMP_THREAD_LIMIT", "2", 1);
  const auto leave = [] {
    std::atomic<int> members = 0;
    run_team(4, [&](int, int) { ++members; });
    int helpers = 0;
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
      helpers += task.path().filename() != std::to_string(::getpid()) ? 1 : 0;
    }
    std::string refusal;
    try {
      require_threads(3);
    } catch (const DeviceError& error) {
      refusal = error.what();
    }
    const bool is_refused = refusal == "3 threads are requested, but OMP_THREAD_LIMIT allows only 2";
    std::exit(members == 4 && helpers <= 1 && is_refused && host_threads() <= 2 ? 7 : 1);
  };
  EXPECT_EXIT(leave(), ::testing::ExitedWithCode(7), "");
  ::unsetenv("OMP_THREAD_LIMIT");
}

TEST(Parallel, AForkedProcessHasATeamOfItsOwn) {
  side_by_side(3);
  const auto leave = [] { std::exit(side_by_side(3) == std::vector{0, 1, 2} ? 7 : 1); };
  EXPECT_EXIT(leave(), ::testing::ExitedWithCode(7), "");
}

TEST(Parallel, AProcessEndsFromWithinATeam) {
  side_by_side(3);
  const auto leave = [] { run_team(3, [](int member, int) { member == 0 ? std::exit(7) : void(); }); };
  for (int i = 0; i < 10; ++i) EXPECT_EXIT(leave(), ::testing::ExitedWithCode(7), "");
}

std::atomic<int> held = 0;
std::atomic<bool> holding = false;

TEST(Parallel, ThreadsThatHaveNotComeAreNotWaitedFor) {
  struct sigaction hold {};
  struct sigaction before {};
  hold.sa_handler = [](int) {
    ++held;
    while (holding) ::sched_yield();
  };
  ASSERT_EQ(sigaction(SIGUSR2, &hold, &before), 0);
  std::thread([] {  // whose helpers are held within a handler
    side_by_side(3);
    holding = true;
    int helpers = 0;
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
      std::string name;
      std::getline(std::ifstream(task.path() / "comm"), name);
      if (name == "spdnn crew")
        helpers += ::syscall(SYS_tgkill, ::getpid(), std::stoi(task.path().filename()), SIGUSR2) == 0 ? 1 : 0;
    }
    ASSERT_GE(helpers, 2);
    while (held < helpers) std::this_thread::yield();
    std::vector<int> by(3, -1);
    run_team(3, [&](int member, int thread) { by[static_cast<std::size_t>(member)] = thread; });
    EXPECT_EQ(by, (std::vector{0, 0, 0}));
    holding = false;
    EXPECT_EQ(side_by_side(3), (std::vector{0, 1, 2})) << "they come again";
  })
      .join();
  ASSERT_EQ(sigaction(SIGUSR2, &before, nullptr), 0);
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
