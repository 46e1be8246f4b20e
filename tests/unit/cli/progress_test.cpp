// Progress updates, and the bar that shows them, on a pseudo-terminal.

#include "core/types/progress.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "cli/progress_bar.hpp"
#include "core/system/stopwatch.hpp"
#include "support/tsv_support.hpp"
#include "temporary_directory.hpp"

namespace spdnn {
namespace {

struct Seen {
  std::string terminal;  ///< what came out of stderr
  std::string output;    ///< what came out of stdout, a file
};

/// Runs `work` with stdout redirected to a file and stderr to a terminal; without `terminal`, to the file as well.
Seen watch(bool terminal, const std::function<void()>& work) {
  const TemporaryDirectory directory;
  const auto path = directory / "stdout";
  int host = -1;
  int screen = -1;
  EXPECT_EQ(::openpty(&host, &screen, nullptr, nullptr, nullptr), 0);
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  std::fflush(stdout);
  std::fflush(stderr);
  const std::array<int, 2> before{::dup(STDOUT_FILENO), ::dup(STDERR_FILENO)};
  ::dup2(file, STDOUT_FILENO);
  ::dup2(terminal ? screen : file, STDERR_FILENO);
  work();
  std::fflush(stdout);
  std::fflush(stderr);
  ::dup2(before[0], STDOUT_FILENO);
  ::dup2(before[1], STDERR_FILENO);
  for (const int descriptor : {file, before[0], before[1]}) ::close(descriptor);

  Seen seen;
  ::fcntl(host, F_SETFL, O_NONBLOCK);
  std::array<char, 4096> text{};
  for (ssize_t n = 0; (n = ::read(host, text.data(), text.size())) > 0;)
    seen.terminal.append(text.data(), static_cast<std::size_t>(n));
  ::close(screen);
  ::close(host);
  seen.output = test::contents(path);
  return seen;
}

/// Reports half of the work, and waits until the bar is shown.
void half_way(const ProgressCallback& callback) {
  Progress progress(callback, "infer", 10);
  for (const Stopwatch watch; watch.seconds() < 0.55; ::usleep(5000)) progress.update(5);
  progress.update(5);  // however long the last pause became
}

TEST(Progress, IsToldFromTheBeginningToTheEndWhichAnErrorIsToo) {
  std::vector<std::string> updates;
  const ProgressCallback callback = [&](const ProgressUpdate& update) {
    updates.push_back(fmt::format("{} {}/{}{}", update.work, update.done, update.total, update.over ? " over" : ""));
  };
  const auto work = [&] {
    Progress progress(callback, "read", 3);
    progress.update(1);
    throw std::runtime_error("unreadable");
  };
  EXPECT_THROW(work(), std::runtime_error);
  EXPECT_EQ(updates, (std::vector<std::string>{"read 0/3", "read 1/3", "read 1/3 over"}));
}

TEST(Progress, WhatItThrowsEndsTheWorkButForItsEnd) {
  const auto thrown_at = [](int call) {
    int done = 0;
    const ProgressCallback callback = [&, calls = 0](const ProgressUpdate& update) mutable {
      if (++calls == call) throw std::runtime_error(update.over ? "over" : fmt::format("{}", update.done));
    };
    try {
      Progress progress(callback, "read", 2);
      while (done < 2) progress.update(++done);
    } catch (const std::runtime_error& error) {
      return fmt::format("{} at {}", error.what(), done);
    }
    return fmt::format("nothing at {}", done);
  };
  EXPECT_EQ(thrown_at(1), "0 at 0");
  EXPECT_EQ(thrown_at(2), "1 at 1");
  EXPECT_EQ(thrown_at(4), "nothing at 2");
}

TEST(ProgressBar, ShowsTheShareDoneOnTheTerminalAndWipesItOff) {
  const Seen seen = watch(true, [] { half_way(cli::progress_bar()); });
  EXPECT_EQ(seen.output, "");
  const std::string bar = "infer [" + std::string(15, '#') + std::string(15, '.') + "] 5/10 ";
  EXPECT_NE(seen.terminal.find(bar), std::string::npos) << seen.terminal;
  EXPECT_TRUE(seen.terminal.ends_with("\r\033[K")) << seen.terminal;
}

TEST(ProgressBar, IsSilentWithoutATerminalAndWhereNotWanted) {
  for (const Seen& seen : {watch(true, [] { half_way({}); }), watch(false, [] { half_way(cli::progress_bar()); })}) {
    EXPECT_EQ(seen.terminal, "");
    EXPECT_EQ(seen.output, "");
  }
}

}  // namespace
}  // namespace spdnn
