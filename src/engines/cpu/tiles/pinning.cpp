#include "engines/cpu/tiles/pinning.hpp"

namespace spdnn {

ScopedPin::ScopedPin(int member, int team_size) {
  if (team_size < 2 || sched_getaffinity(0, sizeof before_, &before_) != 0) return;
  if (CPU_COUNT(&before_) != team_size) return;
  int seen = 0;
  for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
    if (!CPU_ISSET(processor, &before_) || seen++ != member) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(processor, &one);
    pinned_ = sched_setaffinity(0, sizeof one, &one) == 0;
    return;
  }
}

ScopedPin::~ScopedPin() {
  if (pinned_) sched_setaffinity(0, sizeof before_, &before_);
}

}  // namespace spdnn
