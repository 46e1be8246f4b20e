#pragma once

#include <pybind11/pybind11.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <spdnn/error.hpp>
#include <spdnn/progress.hpp>
#include <string>
#include <utility>

#include "texts.hpp"

namespace spdnn::python {

namespace py = pybind11;

/// The result of work(). Errors that the library finds in arrays become DataErrors.
template <class Work>
auto with_data_errors(Work work) {
  try {
    return work();
  } catch (const std::invalid_argument& error) {
    throw DataError(error.what());
  }
}

/// One call that works without the interpreter's lock. It reports its progress to a Python function and lets Python
/// handle signals meanwhile; what either of them raises ends the work, and is raised by the call.
class Call {
 public:
  /// On the thread that calls. `listener` takes (work, done, total), or is None.
  explicit Call(py::object listener) : listener_(std::move(listener)) {
    const py::object main = py::module_::import("threading").attr("main_thread")();
    may_get_signals_ = main.attr("ident").cast<unsigned long>() == PyThread_get_thread_ident();
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  /// For the library, as long as this lives.
  ProgressCallback progress() {
    return [this](const ProgressUpdate& update) { tell(update); };
  }
  std::function<bool()> cancelled() {
    return [this] { return interrupted(); };
  }
  std::function<void(const std::string&)> warning() {
    return [this](const std::string& text) { warn(text); };
  }

  /// Runs work() without the lock and returns what it returns, unless something was raised meanwhile.
  template <class Work>
  auto run(Work work) {
    try {
      auto result = [&] {
        const py::gil_scoped_release unlocked;
        return work();
      }();
      next_look_ = {};
      interrupted();
      if (raised_) std::rethrow_exception(raised_);
      return result;
    } catch (...) {
      if (raised_) std::rethrow_exception(raised_);
      throw;
    }
  }

 private:
  using Clock = std::chrono::steady_clock;
  /// Taking the lock from a busy Python thread takes 5 ms.
  static constexpr auto kBetweenLooks = std::chrono::milliseconds(100);

  void tell(const ProgressUpdate& update) {
    if (interrupted()) throw Cancelled("cancelled");
    if (listener_.is_none() || update.over) return;
    const py::gil_scoped_acquire lock;
    call_python([&] { listener_(py::str(update.work.data(), update.work.size()), update.done, update.total); });
    if (over_) throw Cancelled("cancelled");
  }

  /// About the line that called the package's Python function. Filters may turn warnings into exceptions.
  void warn(const std::string& text) {
    using namespace py::literals;
    const py::gil_scoped_acquire lock;
    call_python([&] { py::module_::import("warnings").attr("warn")(text_of(text), "stacklevel"_a = 2); });
  }

  /// Python handles signals on its main thread only.
  bool interrupted() {
    const auto here = PyThread_get_thread_ident();
    if (over_ || !may_get_signals_ || here != caller_ || Clock::now() < next_look_) return over_;
    const py::gil_scoped_acquire lock;
    call_python([] {
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    });
    next_look_ = Clock::now() + kBetweenLooks;
    return over_;
  }

  template <class Code>
  void call_python(Code code) {
    if (over_) return;
    try {
      code();
    } catch (const py::error_already_set&) {
      raised_ = std::current_exception();
      over_ = true;
    }
  }

  py::object listener_;
  bool may_get_signals_ = false;
  unsigned long caller_ = PyThread_get_thread_ident();
  Clock::time_point next_look_ = Clock::now() + kBetweenLooks;  ///< of the calling thread
  std::exception_ptr raised_;                                   ///< changed under the lock only
  std::atomic<bool> over_ = false;
};

}  // namespace spdnn::python
