#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <stop_token>
#include <system_error>
#include <thread>
#include <utility>

namespace spdnn {

/// Calls a function on a separate thread if this object lives longer than a given time; the destructor waits for that
/// call. If the system has no thread to spare, nothing is called.
class Deadline {
 public:
  Deadline(std::chrono::seconds time, std::function<void()> missed) {
    try {
      thread_ = std::jthread([time, missed = std::move(missed)](const std::stop_token& stop) {
        std::mutex mutex;
        std::unique_lock lock(mutex);
        std::condition_variable_any over;
        if (!over.wait_for(lock, stop, time, [&] { return stop.stop_requested(); })) missed();
      });
    } catch (const std::system_error&) {
      // Without a thread there is no deadline.
    }
  }

 private:
  std::jthread thread_;
};

}  // namespace spdnn
