#pragma once

#include <atomic>
#include <functional>
#include <thread>
#include <utility>

#include "spdnn/error.hpp"

namespace spdnn {

/// Ends work of several threads before its time. The thread that made this asks whether to; the others are told.
class Cancellation {
 public:
  /// Without a question nothing is cancelled.
  explicit Cancellation(std::function<bool()> question) : question_(std::move(question)) {}

  /// Throws Cancelled once the answer was yes. For every thread, again and again; costs a branch without a question.
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
