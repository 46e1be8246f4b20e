#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace spdnn {

/// The progress of a long task.
struct ProgressUpdate {
  std::string_view work;  ///< the task's name, such as "read layers"
  std::uint64_t done = 0;
  std::uint64_t total = 0;
  bool over = false;  ///< the task has ended, complete or by an error
};

/// Called at the start of a task, during it and at its end, by one thread at a time. Its exceptions end the task and
/// reach the task's caller, except that one thrown at the end (`over`) is lost. May be empty.
using ProgressCallback = std::function<void(const ProgressUpdate&)>;

}  // namespace spdnn
