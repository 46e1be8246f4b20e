#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <spdnn/error.hpp>
#include <spdnn/session.hpp>
#include <string>
#include <utility>

#include "texts.hpp"

namespace spdnn::python {

/// A session that may be closed. Its properties stay known; a run under way ends before its memory is given back.
template <class Session>
class Closable {
 public:
  explicit Closable(Session session) : open_(std::make_shared<const Session>(std::move(session))) {}

  std::shared_ptr<const Session> get() const {
    if (open_ == nullptr) throw UsageError("the session is closed");
    return open_;
  }
  void close() {
    last_ = properties();
    open_.reset();
  }

  struct Properties {
    std::string variant;
    std::string precision;
    Index batch = 0;
    int threads = 0;
  };
  Properties properties() const {
    if (open_ == nullptr) return last_;
    return {open_->variant(), std::string(to_string(open_->precision())), open_->batch(), open_->threads()};
  }

 private:
  std::shared_ptr<const Session> open_;
  Properties last_;
};

/// The Python class, without run().
template <class Session>
py::class_<Closable<Session>> define_session(py::module_& module, const char* name) {
  using Closed = Closable<Session>;
  return py::class_<Closed>(module, name)
      .def("close", &Closed::close)
      .def_property_readonly("variant", [](const Closed& session) { return session.properties().variant; })
      .def_property_readonly("precision", [](const Closed& session) { return session.properties().precision; })
      .def_property_readonly("batch", [](const Closed& session) { return session.properties().batch; })
      .def_property_readonly("threads", [](const Closed& session) { return session.properties().threads; });
}

}  // namespace spdnn::python
