#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "spdnn/progress.hpp"

namespace spdnn {

/// A line on stderr that fills up during long work and is wiped at its end. It is shown only on a terminal, only after
/// half a second, and changes at most ten times a second. Not for use by several threads at once.
class Progress {
 public:
  Progress(ProgressMode mode, std::string what, std::uint64_t total);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();
  void update(std::uint64_t done);

 private:
  using Clock = std::chrono::steady_clock;
  bool enabled_;
  bool drawn_ = false;
  std::string what_;
  std::uint64_t total_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point next_ = start_ + std::chrono::milliseconds(500);
};

}  // namespace spdnn
