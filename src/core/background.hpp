#pragma once

#include <functional>
#include <future>
#include <memory>
#include <stop_token>
#include <system_error>
#include <thread>
#include <utility>

namespace spdnn {

/// A value that a thread of its own makes, beginning at once; where the system gives no thread, get() makes it. The
/// thread never outlives its Background: the destructor asks it to stop and waits until it has ended.
template <class T>
class Background {
 public:
  /// `work` may look at its token between its steps, and end early with any value once it is asked to stop.
  explicit Background(std::function<T(const std::stop_token&)> work)
      : work_(std::make_shared<Work>(std::move(work))), result_(work_->get_future()) {
    try {
      thread_ = std::jthread([task = work_](const std::stop_token& stop) { (*task)(stop); });
    } catch (const std::system_error&) {
      // There is time until get().
    }
  }

  /// Waits until the thread has ended; then the value, or the exception that came instead. Once only.
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
