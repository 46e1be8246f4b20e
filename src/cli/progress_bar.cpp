#include "cli/progress_bar.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>

namespace spdnn::cli {

namespace {

class Bar {
 public:
  void operator()(const ProgressUpdate& update) {
    const auto now = Clock::now();
    if (update.over) {
      if (drawn_) std::fputs("\r\033[K", stderr);
    } else if (update.done == 0) {
      start_ = now;
      next_ = now + std::chrono::milliseconds(500);
    } else if (now >= next_) {
      draw(update, std::chrono::duration<double>(now - start_).count());
      next_ = now + std::chrono::milliseconds(100);
    }
  }

 private:
  using Clock = std::chrono::steady_clock;

  void draw(const ProgressUpdate& update, double seconds) {
    constexpr std::uint64_t kWidth = 30;
    const std::uint64_t filled = update.total == 0 ? kWidth : std::min(kWidth, update.done * kWidth / update.total);
    // Errors of fputs are ignored: a closed terminal is no reason to stop.
    std::fputs(fmt::format("\r{} [{}{}] {}/{} {:.1f} s\033[K", update.work, std::string(filled, '#'),
                           std::string(kWidth - filled, '.'), update.done, update.total, seconds)
                   .c_str(),
               stderr);
    drawn_ = true;
  }

  bool drawn_ = false;
  Clock::time_point start_;
  Clock::time_point next_;
};

}  // namespace

ProgressCallback progress_bar() { return isatty(STDERR_FILENO) == 1 ? ProgressCallback(Bar()) : ProgressCallback(); }

}  // namespace spdnn::cli
