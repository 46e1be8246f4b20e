// In a team with as many threads as processors, each thread keeps to a processor of its own until the work is done.

#include "engines/cpu/tiles/pinning.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "core/threads/parallel.hpp"

namespace spdnn {
namespace {

/// The processors of a thread that is a member of a team with these two.
std::string processors_while_pinned(const cpu_set_t& two, int member, int team_size) {
  std::string within;
  std::thread([&] {
    ASSERT_EQ(sched_setaffinity(0, sizeof two, &two), 0);
    const std::string before = processor_set();
    {
      const ScopedPin pin(member, team_size);
      within = processor_set();
    }
    EXPECT_EQ(processor_set(), before);
  }).join();
  return within;
}

TEST(ScopedPin, KeepsTheThreadsOfATeamOfAllProcessorsApart) {
  cpu_set_t all;
  ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  if (CPU_COUNT(&all) < 2) GTEST_SKIP() << "one processor";
  cpu_set_t two;
  CPU_ZERO(&two);
  std::vector<std::string> names;
  for (int processor = 0; names.size() < 2; ++processor)
    if (CPU_ISSET(processor, &all)) {
      CPU_SET(processor, &two);
      names.push_back(std::to_string(processor) + ",");
    }
  EXPECT_EQ(processors_while_pinned(two, 0, 2), names[0]);
  EXPECT_EQ(processors_while_pinned(two, 1, 2), names[1]);
  for (const int size : {1, 3}) EXPECT_EQ(processors_while_pinned(two, 0, size), names[0] + names[1]) << size;
}

}  // namespace
}  // namespace spdnn
