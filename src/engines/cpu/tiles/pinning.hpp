#pragma once

#include <sched.h>

namespace spdnn {

/// Keeps the calling thread on one processor for as long as the object lives: caches stay warm, and memory that the
/// thread touches first stays near. Does nothing where the team does not fill the processors that the process may use,
/// since then the system knows better which of them are free.
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
