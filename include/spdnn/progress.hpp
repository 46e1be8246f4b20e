#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace spdnn {

/// How far a piece of long work has come.
struct ProgressUpdate {
  std::string_view work;  ///< what is being done, "read layers"
  std::uint64_t done = 0;
  std::uint64_t total = 0;
  bool over = false;  ///< the work has ended, whether all of it was done or an error came first
};

/// Is told at the beginning of a piece of work, in between and at its end, by one thread at a time. An exception that
/// it throws ends the work and goes to whoever asked for it; one thrown at the end (`over`) is lost. Where it is empty,
/// nobody is told.
using ProgressCallback = std::function<void(const ProgressUpdate&)>;

}  // namespace spdnn
