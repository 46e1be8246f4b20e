#include "core/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace spdnn {

Progress::Progress(ProgressMode mode, std::string what, std::uint64_t total)
    : enabled_(mode == ProgressMode::automatic && isatty(STDERR_FILENO) == 1), what_(std::move(what)), total_(total) {}

Progress::~Progress() {
  if (drawn_) std::fputs("\r\033[K", stderr);
}

void Progress::update(std::uint64_t done) {
  if (!enabled_ || Clock::now() < next_) return;
  constexpr std::uint64_t kWidth = 30;
  const std::uint64_t filled = total_ == 0 ? kWidth : std::min(kWidth, done * kWidth / total_);
  const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  // A terminal that is gone is no reason to stop: what fputs returns is ignored.
  std::fputs(fmt::format("\r{} [{}{}] {}/{} {:.1f} s\033[K", what_, std::string(filled, '#'),
                         std::string(kWidth - filled, '.'), done, total_, seconds)
                 .c_str(),
             stderr);
  drawn_ = true;
  next_ = Clock::now() + std::chrono::milliseconds(100);
}

}  // namespace spdnn
