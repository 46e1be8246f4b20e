#pragma once

#include <functional>
#include <future>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>

namespace spdnn {

/// A value that a thread of its own makes, beginning at once; where the system gives no thread, get() makes it. One
/// that nobody waits for, as an error came first, is left behind with its thread: so the work must own all that it
/// uses, and a program that ends early must end at once (std::_Exit), without waiting for threads or destroying what
/// they may still use.
template <class T>
class Background {
 public:
  explicit Background(std::function<T()> work)
      : work_(std::make_shared<std::packaged_task<T()>>(std::move(work))), result_(work_->get_future()) {
    try {
      thread_ = std::thread([task = work_] { (*task)(); });
    } catch (const std::system_error&) {
      // There is time until get().
    }
  }
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;
  ~Background() {
    if (thread_.joinable()) thread_.detach();
  }

  /// Waits until the thread has ended; then the value, or the exception that came instead. Once only.
  T get() {
    if (thread_.joinable())
      thread_.join();
    else
      (*work_)();
    return result_.get();
  }

 private:
  std::shared_ptr<std::packaged_task<T()>> work_;
  std::future<T> result_;
  std::thread thread_;
};

}  // namespace spdnn
