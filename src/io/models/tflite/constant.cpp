#include "io/models/tflite/constant.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "io/models/tflite/sparse.hpp"
#include "spdnn/error.hpp"

namespace spdnn::tflite_reader {

namespace {

[[noreturn]] void refuse_constant(const std::string& where, const std::string& problem) {
  throw DataError(where + ": " + problem);
}

std::string type_name(tflite::TensorType type) {
  const char* name = tflite::EnumNameTensorType(type);
  return *name == '\0' ? fmt::format("type {}", static_cast<int>(type)) : name;
}

const tflite::Buffer* buffer_of(const tflite::Model& model, const tflite::Tensor& tensor) {
  const auto* buffers = model.buffers();
  if (tensor.buffer() == 0 || buffers == nullptr || tensor.buffer() >= buffers->size()) return nullptr;
  return buffers->Get(tensor.buffer());
}

/// The bytes of a constant tensor.
std::span<const std::byte> bytes_of_tensor(const tflite::Model& model, const tflite::Tensor& tensor,
                                           const std::string& where) {
  const tflite::Buffer* buffer = buffer_of(model, tensor);
  if (buffer == nullptr)
    refuse_constant(where,
                    "it has no buffer in the file: it depends on the inputs of the model, and must be a constant");
  if (buffer->offset() > 1 || buffer->size() > 1)
    refuse_constant(where, "its bytes lie after the FlatBuffer, which is not supported; they must lie in it");
  if (!is_constant(model, tensor))
    refuse_constant(where, "its buffer is empty: it depends on the inputs of the model, and must be a constant");
  return std::as_bytes(std::span(buffer->data()->data(), buffer->data()->size()));
}

/// Calls work(index in the dense tensor, value) for each stored value.
template <class Work>
void for_each_value(const Constant& constant, Work work) {
  for (std::size_t i = 0; i < constant.values.size(); ++i)
    work(constant.places ? (*constant.places)[i] : Offset{i}, constant.values[i]);
}

/// The stride of each axis, in elements.
std::vector<Offset> steps_of(const Shape& shape) {
  std::vector<Offset> steps(shape.size(), 1);
  for (std::size_t axis = shape.size(); axis-- > 1;) steps[axis - 1] = steps[axis] * static_cast<Offset>(shape[axis]);
  return steps;
}

}  // namespace

Shape shape_of(const tflite::Tensor& tensor, const std::string& where) {
  Shape shape;
  if (tensor.shape() == nullptr) return shape;
  if (tensor.shape()->size() > kMostAxes)
    refuse_constant(where, fmt::format("{} axes are more than {}", tensor.shape()->size(), kMostAxes));
  for (const std::int32_t extent : *tensor.shape()) {
    if (extent < 1) refuse_constant(where, fmt::format("an axis has the length {}, expected 1..{}", extent, kMaxIndex));
    shape.push_back(extent);
  }
  if (!elements(shape)) refuse_constant(where, fmt::format("{} are too many elements", shape_text(shape)));
  return shape;
}

bool is_constant(const tflite::Model& model, const tflite::Tensor& tensor) {
  const tflite::Buffer* buffer = buffer_of(model, tensor);
  if (buffer == nullptr) return false;
  const bool filled = buffer->data() != nullptr && (buffer->data()->size() > 0 || tensor.sparsity() != nullptr);
  return filled || buffer->offset() > 1;
}

void require_floats(const tflite::Tensor& tensor, const std::string& where) {
  using Type = tflite::TensorType;
  const Type type = tensor.type();
  if (type == Type::FLOAT32 || type == Type::FLOAT16) return;
  if (type == Type::INT8 || type == Type::UINT8 || type == Type::INT16)
    refuse_constant(where,
                    fmt::format("its numbers are {}: quantised models are not supported, only FLOAT32 and FLOAT16",
                                type_name(type)));
  refuse_constant(where, fmt::format("its numbers are {}, expected FLOAT32 or FLOAT16", type_name(type)));
}

Constant read_constant(const tflite::Model& model, const tflite::Tensor& tensor, const std::string& where,
                       Budget& budget) {
  require_floats(tensor, where);
  Constant constant;
  constant.shape = shape_of(tensor, where);
  const std::span<const std::byte> bytes = bytes_of_tensor(model, tensor, where);
  const NumberType type = tensor.type() == tflite::TensorType::FLOAT16 ? NumberType::f16 : NumberType::f32;
  const std::size_t count = bytes.size() / bytes_of(type);
  if (bytes.size() % bytes_of(type) != 0 || (tensor.sparsity() == nullptr && count != constant.size()))
    refuse_constant(where, fmt::format("{} bytes do not fit {} numbers of {} bytes", bytes.size(),
                                       shape_text(constant.shape), bytes_of(type)));
  if (tensor.sparsity() != nullptr)
    constant.places = places_of(*tensor.sparsity(), constant.shape, count, where, budget);
  budget.take(count * sizeof(float));
  std::vector<float> values(count);
  to_floats(type, false, bytes, values);
  require_finite(where, values);
  constant.values = std::move(values);
  constant.type = type;
  return constant;
}

std::vector<std::int64_t> read_integers(const tflite::Model& model, const tflite::Tensor& tensor,
                                        const std::string& where) {
  const bool wide = tensor.type() == tflite::TensorType::INT64;
  if (!wide && tensor.type() != tflite::TensorType::INT32)
    refuse_constant(where, fmt::format("its numbers are {}, expected INT32 or INT64", type_name(tensor.type())));
  if (tensor.sparsity() != nullptr) refuse_constant(where, "sparse integers are not supported");
  const std::span<const std::byte> bytes = bytes_of_tensor(model, tensor, where);
  const std::size_t size = wide ? sizeof(std::int64_t) : sizeof(std::int32_t);
  const Offset count = *elements(shape_of(tensor, where));
  if (count > 2 * kMostAxes) refuse_constant(where, fmt::format("{} numbers are more than {}", count, 2 * kMostAxes));
  if (bytes.size() != count * size)
    refuse_constant(where, fmt::format("{} bytes are not {} numbers", bytes.size(), count));
  std::vector<std::int64_t> numbers(count);
  for (std::size_t i = 0; i < count; ++i) {
    std::int32_t narrow_number = 0;
    std::memcpy(wide ? static_cast<void*>(&numbers[i]) : &narrow_number, bytes.data() + i * size, size);
    if (!wide) numbers[i] = narrow_number;
  }
  return numbers;
}

Constant densified(const Constant& constant, Budget& budget) {
  if (!constant.places) return constant;
  budget.take(constant.size() * sizeof(float));
  std::vector<float> dense(constant.size());
  for_each_value(constant, [&](Offset place, float value) { dense[place] = value; });
  return {constant.shape, std::move(dense), std::nullopt, constant.type};
}

Constant transposed(const Constant& constant, const std::vector<Index>& order, Budget& budget) {
  budget.take(constant.size() * sizeof(float));
  Shape shape;
  for (const Index axis : order) shape.push_back(constant.shape[axis]);
  const std::vector<Offset> from = steps_of(constant.shape);
  const std::vector<Offset> to = steps_of(shape);
  std::vector<float> values(constant.size());
  for_each_value(constant, [&](Offset place, float value) {
    Offset moved = 0;
    for (std::size_t axis = 0; axis < order.size(); ++axis)
      moved += place / from[order[axis]] % static_cast<Offset>(shape[axis]) * to[axis];
    values[moved] = value;
  });
  return {std::move(shape), std::move(values), std::nullopt, constant.type};
}

CsrMatrix matrix_of(const Constant& constant, Index rows, Index cols, const Placement& placement, Budget& budget) {
  const std::vector<Offset> steps = steps_of(constant.shape);
  const auto sum_of = [&](Offset place, const std::array<Offset, 4>& times) {
    Offset sum = 0;
    for (std::size_t axis = 0; axis < steps.size(); ++axis)
      if (times[axis] != 0) sum += place / steps[axis] % static_cast<Offset>(constant.shape[axis]) * times[axis];
    return sum;
  };
  // Scanning costs time, and the entries memory; a file may ask for either repeatedly.
  budget.take(constant.values.bytes() + (Offset{rows} + 1) * sizeof(Offset));
  std::vector<Offset> offsets(std::size_t{rows} + 1);
  for_each_value(constant, [&](Offset place, float value) { offsets[sum_of(place, placement.row) + 1] += value != 0; });
  std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
  budget.take(offsets.back() * sizeof(std::pair<Index, float>));
  std::vector<std::pair<Index, float>> entries(offsets.back());
  std::vector<Offset> next(offsets.begin(), offsets.end() - 1);
  for_each_value(constant, [&](Offset place, float value) {
    if (value != 0)
      entries[next[sum_of(place, placement.row)]++] = {static_cast<Index>(sum_of(place, placement.col)), value};
  });
  std::vector<Index> indices(entries.size());
  std::vector<float> values(entries.size());
  for (Index row = 0; row < rows; ++row)
    std::sort(entries.begin() + static_cast<std::ptrdiff_t>(offsets[row]),
              entries.begin() + static_cast<std::ptrdiff_t>(offsets[row + 1]));
  for (std::size_t i = 0; i < entries.size(); ++i) std::tie(indices[i], values[i]) = entries[i];
  return make_csr(rows, cols, std::move(offsets), std::move(indices), std::move(values));
}

}  // namespace spdnn::tflite_reader
