// Work in a child process: its result, and what is said if it has none.

#include "core/system/run_apart.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <future>
#include <stdexcept>

#include "spdnn/error.hpp"
#include "support/message_of.hpp"

namespace spdnn {
namespace {

using Bytes = std::vector<std::byte>;

const auto never = [] { return false; };

std::string failure_of(const std::function<Bytes()>& work, const std::function<bool()>& cancelled = never) {
  return testing::message_of<DeviceError>([&] { run_apart(work, cancelled); });
}

TEST(RunApart, ReturnsWhatTheWorkReturnsAndChangesNothingHere) {
  int number = 1;
  const Bytes many(std::size_t{3} << 20U, std::byte{7});
  EXPECT_EQ(run_apart(
                [&] {
                  number = 2;
                  return many;
                },
                never),
            many);
  EXPECT_EQ(number, 1);
  EXPECT_TRUE(run_apart([] { return Bytes(); }, never).empty());
}

TEST(RunApart, SaysHowTheChildEnded) {
  EXPECT_EQ(failure_of([]() -> Bytes { throw std::runtime_error("no such instruction"); }), "no such instruction");
  EXPECT_EQ(failure_of([]() -> Bytes {
              std::raise(SIGSEGV);
              return {};
            }),
            "a child process was ended by signal 11 (Segmentation fault)");
  EXPECT_EQ(failure_of([]() -> Bytes { std::abort(); }), "a child process was ended by signal 6 (Aborted)");
  EXPECT_EQ(failure_of([]() -> Bytes { ::_exit(0); }), "a child process ended without a result");
}

TEST(RunApart, KillsAChildThatIsCancelled) {
  pid_t child = 0;
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const auto hang = [&]() -> Bytes {
    const pid_t own = ::getpid();
    EXPECT_EQ(::write(ends[1], &own, sizeof(own)), static_cast<ssize_t>(sizeof(own)));
    while (true) ::pause();
  };
  int asked = 0;
  EXPECT_EQ(failure_of(hang, [&] { return ++asked > 3; }), "a child process was cancelled");
  ASSERT_EQ(::read(ends[0], &child, sizeof(child)), static_cast<ssize_t>(sizeof(child)));
  EXPECT_EQ(::kill(child, 0), -1) << "it still exists";
  ::close(ends[0]);
  ::close(ends[1]);
}

/// A child that hangs does not hold up the results of others that were started at the same time.
TEST(RunApart, ChildrenDoNotWaitForOneAnother) {
  std::atomic<bool> cancelled = false;
  std::vector<std::future<std::string>> hanging;
  for (int i = 0; i < 4; ++i)
    hanging.push_back(std::async(std::launch::async, [&] {
      return failure_of(
          []() -> Bytes {
            while (true) ::pause();
          },
          [&] { return cancelled.load(); });
    }));
  for (int i = 0; i < 20; ++i) EXPECT_EQ(run_apart([&] { return Bytes(9, std::byte{1}); }, never).size(), 9);
  cancelled = true;
  for (auto& one : hanging) EXPECT_EQ(one.get(), "a child process was cancelled");
}

}  // namespace
}  // namespace spdnn
