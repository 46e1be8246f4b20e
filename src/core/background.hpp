#pragma once

#include <functional>
#include <future>
#include <thread>
#include <utility>

namespace spdnn {

/// A value that a thread of its own makes, beginning at once. One that nobody waits for, as an error came first, is
/// left behind with its thread: so the work must own all that it uses, and a program that ends early must end at once
/// (std::_Exit), without waiting for threads or destroying what they may still use.
template <class T>
class Background {
 public:
  explicit Background(std::function<T()> work) : Background(std::packaged_task<T()>(std::move(work))) {}
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;
  ~Background() {
    if (thread_.joinable()) thread_.detach();
  }

  /// Waits until the thread has ended; then the value, or the exception that came instead. Once only.
  T get() {
    thread_.join();
    return result_.get();
  }

 private:
  explicit Background(std::packaged_task<T()> task) : result_(task.get_future()), thread_(std::move(task)) {}

  std::future<T> result_;
  std::thread thread_;
};

}  // namespace spdnn
