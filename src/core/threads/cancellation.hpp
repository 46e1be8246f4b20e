#pragma once

#include <atomic>
#include <functional>
#include <thread>
#include <utility>

#include "spdnn/error.hpp"

namespace spdnn {

/// Cancels work on several threads. Only the thread that created this object, or restarted it, calls the question; the
/// others see its answer.
class Cancellation {
 public:
  /// An empty question never cancels.
  explicit Cancellation(std::function<bool()> question) : question_(std::move(question)) {}

  /// For the next work, of which the calling thread asks. Not while other threads check().
  void restart() {
    owner_ = std::this_thread::get_id();
    cancelled_ = false;
  }

  /// Throws Cancelled once the answer was yes. Every thread may call it any number of times; without a question it
  /// costs one branch.
  void check() {
    if (!question_) return;
    if (std::this_thread::get_id() == owner_ && !cancelled_) cancelled_ = question_();
    if (cancelled_) throw Cancelled("the run was cancelled");
  }

 private:
  std::function<bool()> question_;
  std::thread::id owner_ = std::this_thread::get_id();
  std::atomic<bool> cancelled_ = false;
};

}  // namespace spdnn
