#pragma once

#include <chrono>
#include <ctime>

namespace spdnn {

/// Measures wall-clock seconds since its construction or the last lap.
class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  /// Returns the seconds so far and restarts.
  double lap() {
    const double elapsed = seconds();
    start_ = Clock::now();
    return elapsed;
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

/// The processor time used by all threads of the process so far. On the first line of main this is the time to load the
/// program and its shared libraries, without waiting for a disk.
inline double process_cpu_seconds() {
  std::timespec used{};
  if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) != 0) return 0;
  return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
}

}  // namespace spdnn
