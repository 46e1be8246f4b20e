#pragma once

#include <mutex>

#include "spdnn/error.hpp"

namespace spdnn {

/// Held by a session's run. UsageError if another thread is in one.
inline std::unique_lock<std::mutex> lock_session(std::mutex& running) {
  std::unique_lock<std::mutex> alone(running, std::try_to_lock);
  if (!alone) throw UsageError("another thread runs this session; each thread needs a session of its own");
  return alone;
}

}  // namespace spdnn
