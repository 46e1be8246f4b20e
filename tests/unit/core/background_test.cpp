#include "core/threads/background.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <optional>

#include "spdnn/error.hpp"
#include "support/refused_threads.hpp"

namespace spdnn {
namespace {

TEST(Background, GivesTheValueMadeOnAnotherThread) {
  const std::thread::id here = std::this_thread::get_id();
  Background<std::thread::id> other([](const std::stop_token& /*stop*/) { return std::this_thread::get_id(); });
  EXPECT_NE(other.get(), here);
}

TEST(Background, ThrowsWhereItIsAskedFor) {
  Background<int> failing([](const std::stop_token& /*stop*/) -> int { throw DataError("bad file"); });
  try {
    failing.get();
    FAIL() << "nothing was thrown";
  } catch (const DataError& error) {
    EXPECT_STREQ(error.what(), "bad file");
  }
}

/// The work ends only when asked to, and uses a variable that lives just long enough.
TEST(Background, IsStoppedAndWaitedForWhenNobodyAsks) {
  std::atomic<bool> ended = false;
  {
    const Background<int> abandoned([&](const std::stop_token& stop) {
      while (!stop.stop_requested()) std::this_thread::yield();
      ended = true;
      return 7;
    });
  }
  EXPECT_TRUE(ended);
}

TEST(Background, IsWorkedForWhereItIsAskedForIfTheSystemHasNoThread) {
  std::optional<Background<std::thread::id>> refused;
  {
    const testing::RefusedThreads none;
    refused.emplace([](const std::stop_token& /*stop*/) { return std::this_thread::get_id(); });
  }
  EXPECT_EQ(refused->get(), std::this_thread::get_id());
}

}  // namespace
}  // namespace spdnn
