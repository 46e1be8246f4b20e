#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include "spdnn/progress.hpp"

namespace spdnn {

/// Reports the progress of one task to a callback, from construction to destruction. Not thread-safe.
class Progress {
 public:
  /// `work` must outlive this object.
  Progress(ProgressCallback callback, std::string_view work, std::uint64_t total)
      : callback_(std::move(callback)), state_{.work = work, .total = total} {
    notify();
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() {
    state_.over = true;
    try {
      notify();
    } catch (...) {  // the work is over, and a destructor may not throw
    }
  }
  void update(std::uint64_t done) {
    state_.done = done;
    notify();
  }

 private:
  void notify() const {
    if (callback_) callback_(state_);
  }

  ProgressCallback callback_;
  ProgressUpdate state_;
};

}  // namespace spdnn
