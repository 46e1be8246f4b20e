#include "cluster/rank_guard.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

namespace spdnn {
namespace {

/// The exit code of a rank whose child sends the signal to the process that guards it, as a launcher does. That is one
/// of its own, as this one may have threads.
int code_after(int signal) {
  const pid_t guard = ::fork();
  if (guard == 0) {
    guard_rank(4);
    std::signal(signal, [](int) { ::_exit(5); });
    ::kill(::getppid(), signal);
    ::sleep(60);
    ::_exit(6);
  }
  int status = 0;
  ::waitpid(guard, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

TEST(RankGuard, PassesSignalsOnToARankThatStopsByThem) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // the process looks for its launcher anew
  ASSERT_EQ(::setenv("OMPI_COMM_WORLD_RANK", "0", 1) | ::setenv("OMPI_COMM_WORLD_SIZE", "2", 1), 0);
  const auto pass_each = [] {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2})
      if (const int code = code_after(signal); code != 5) ::_exit(code);
    ::_exit(5);
  };
  EXPECT_EXIT(pass_each(), ::testing::ExitedWithCode(5), "");
  ::unsetenv("OMPI_COMM_WORLD_RANK");
  ::unsetenv("OMPI_COMM_WORLD_SIZE");
}

}  // namespace
}  // namespace spdnn
