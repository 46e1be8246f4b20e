#pragma once

#include <sched.h>

namespace spdnn {

/// Pins the calling thread to one processor while the object lives: caches stay warm, and memory that the thread
/// touches first stays on its NUMA node. Does nothing if the team is smaller than the number of the process's
/// processors, since the system then knows better which of them are free.
class ScopedPin {
 public:
  ScopedPin(int member, int team_size);
  ~ScopedPin();
  ScopedPin(const ScopedPin&) = delete;
  ScopedPin& operator=(const ScopedPin&) = delete;

 private:
  bool pinned_ = false;
  cpu_set_t before_{};
};

}  // namespace spdnn
