#pragma once

#include <functional>
#include <future>
#include <memory>
#include <stop_token>
#include <system_error>
#include <thread>
#include <utility>

namespace spdnn {

/// A value computed on a separate thread, starting immediately; if the system has no thread to spare, get() computes
/// it. The thread never outlives its Background: the destructor asks it to stop and waits for it.
template <class T>
class Background {
 public:
  /// `work` may check its token between its steps, and return early with any value once a stop is requested.
  explicit Background(std::function<T(const std::stop_token&)> work)
      : work_(std::make_shared<Work>(std::move(work))), result_(work_->get_future()) {
    try {
      thread_ = std::jthread([task = work_](const std::stop_token& stop) { (*task)(stop); });
    } catch (const std::system_error&) {
      // No thread is available: get() does the work.
    }
  }

  /// Waits for the thread; then returns the value or rethrows its exception. Call it once.
  T get() {
    if (thread_.joinable())
      thread_.join();
    else
      (*work_)({});
    return result_.get();
  }

 private:
  using Work = std::packaged_task<T(const std::stop_token&)>;
  std::shared_ptr<Work> work_;
  std::future<T> result_;
  std::jthread thread_;  ///< the last member, so that it has ended before the others are destroyed
};

}  // namespace spdnn
