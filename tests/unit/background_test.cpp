#include "core/background.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "spdnn/error.hpp"

namespace spdnn {
namespace {

TEST(Background, GivesTheValueMadeOnAnotherThread) {
  const std::thread::id here = std::this_thread::get_id();
  Background<std::thread::id> other([] { return std::this_thread::get_id(); });
  EXPECT_NE(other.get(), here);
}

TEST(Background, ThrowsWhereItIsAskedFor) {
  Background<int> failing([]() -> int { throw DataError("bad file"); });
  try {
    failing.get();
    FAIL() << "nothing was thrown";
  } catch (const DataError& error) {
    EXPECT_STREQ(error.what(), "bad file");
  }
}

/// The work ends only after its Background is gone: a destructor that waited would never return.
TEST(Background, IsNotWaitedForWhenNobodyAsks) {
  auto gone = std::make_shared<std::promise<void>>();
  std::promise<int> done;
  std::future<int> result = done.get_future();
  {
    const auto work = [seen = gone->get_future().share(), to = std::make_shared<std::promise<int>>(std::move(done))] {
      seen.wait();
      to->set_value(7);
      return 7;
    };
    const Background<int> abandoned(work);
  }
  gone->set_value();
  EXPECT_EQ(result.get(), 7);
}

}  // namespace
}  // namespace spdnn
