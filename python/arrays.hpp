#pragma once

#include <pybind11/numpy.h>

#include <algorithm>
#include <memory>
#include <spdnn/array.hpp>
#include <spdnn/csr_matrix.hpp>
#include <spdnn/tensor.hpp>

namespace spdnn::python {

namespace py = pybind11;

/// Memory of a NumPy array as an Array, without a copy: the NumPy array lives as long as any Array points into it.
/// TypeError unless it holds one T after another. The caller checks the kind of number, as NumPy's int32 holds neurons,
/// too.
template <class T>
Array<T> borrow(const py::array& array) {
  if (array.itemsize() != sizeof(T) || array.ndim() == 0 || (array.flags() & py::array::c_style) == 0 ||
      reinterpret_cast<std::uintptr_t>(array.data()) % alignof(T) != 0)
    throw py::type_error("expected contiguous, aligned numbers of " + std::to_string(sizeof(T)) + " bytes");
  // The last Array may go away on any thread, and without the interpreter's lock.
  const std::shared_ptr<py::object> owner(new py::object(array), [](const py::object* object) {
    const py::gil_scoped_acquire lock;
    delete object;
  });
  return {std::shared_ptr<const T[]>(owner, static_cast<const T*>(array.data())),
          static_cast<std::size_t>(array.size())};
}

/// The same memory as a read-only NumPy array, whose numbers are of type U, as large as T.
template <class U, class T>
py::array_t<U> view(const Array<T>& array) {
  static_assert(sizeof(U) == sizeof(T));
  const py::capsule owner(new Array<T>(array), [](void* held) { delete static_cast<Array<T>*>(held); });
  py::array_t<U> result(static_cast<py::ssize_t>(array.size()), reinterpret_cast<const U*>(array.data()), owner);
  result.attr("flags").attr("writeable") = false;
  return result;
}

/// The numbers of a range as a NumPy array of its own.
template <class U>
py::array_t<U> copy(const auto& range) {
  py::array_t<U> result(static_cast<py::ssize_t>(range.size()));
  std::copy(range.begin(), range.end(), result.mutable_data());
  return result;
}

/// SciPy's arrays (data, indices, indptr), without a copy of indices and of data that differ.
inline py::tuple arrays_of(const CsrMatrix& matrix) {
  py::object data;
  if (matrix.uniform()) {
    py::array_t<float> same(static_cast<py::ssize_t>(matrix.entries()));
    std::fill_n(same.mutable_data(), matrix.entries(), matrix.value);
    data = same;
  } else {
    data = view<float>(matrix.values);
  }
  return py::make_tuple(data, view<std::int32_t>(matrix.indices), copy<std::int64_t>(matrix.offsets));
}

/// The tensor of a NumPy array of float32 that borrow() accepts.
inline Tensor tensor_of(const py::array& array) {
  return {Shape(array.shape(), array.shape() + array.ndim()), borrow<float>(array)};
}

/// The tensor as a NumPy array, without a copy. Nothing else uses its memory, so Python may write to it.
inline py::array_t<float> handed_over(const Tensor& tensor) {
  const py::capsule owner(new Array<float>(tensor.values), [](void* held) { delete static_cast<Array<float>*>(held); });
  return py::array_t<float>(std::vector<py::ssize_t>(tensor.shape.begin(), tensor.shape.end()), tensor.values.data(),
                            owner);
}

}  // namespace spdnn::python
