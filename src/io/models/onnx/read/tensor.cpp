#include "io/models/onnx/read/tensor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <span>

#include "io/arrays/numbers.hpp"

namespace spdnn::onnx_reader {

namespace {

using onnx::TensorProto;

/// The element type, as stored in raw_data and as held by the typed fields.
std::optional<NumberType> number_type(int type) {
  switch (type) {
    case TensorProto::FLOAT:
      return NumberType::f32;
    case TensorProto::DOUBLE:
      return NumberType::f64;
    case TensorProto::FLOAT16:
      return NumberType::f16;
    case TensorProto::BFLOAT16:
      return NumberType::bf16;
    case TensorProto::INT64:
      return NumberType::i64;
    case TensorProto::INT32:
      return NumberType::i32;
    case TensorProto::INT16:
      return NumberType::i16;
    case TensorProto::INT8:
      return NumberType::i8;
    case TensorProto::UINT16:
      return NumberType::u16;
    case TensorProto::UINT8:
      return NumberType::u8;
    case TensorProto::BOOL:
      return NumberType::boolean;
    default:
      return std::nullopt;
  }
}

using NumbersOfConstant = decltype(Constant::values);

/// Raw data, which are little-endian.
NumbersOfConstant values_of(NumberType type, std::span<const std::byte> raw) {
  const std::size_t count = raw.size() / bytes_of(type);
  if (is_whole(type)) {
    const auto to = allocate<std::int64_t>(count);
    to_integers(type, false, raw, {to.get(), count});
    return Array<std::int64_t>{to, count};
  }
  const auto to = allocate<float>(count);
  to_floats(type, false, raw, {to.get(), count});
  return Array<float>{to, count};
}

template <class To, class Field>
Array<To> copy_of(const Field& field) {
  const auto count = static_cast<std::size_t>(field.size());
  const auto to = allocate<To>(count);
  std::transform(field.begin(), field.end(), to.get(), [](auto value) { return static_cast<To>(value); });
  return {to, count};
}

/// The contents of a typed field: 16-bit numbers are stored as bits in int32_data.
NumbersOfConstant values_of(NumberType type, const TensorProto& tensor) {
  switch (type) {
    case NumberType::f32:
      return copy_of<float>(tensor.float_data());
    case NumberType::f64:
      return copy_of<float>(tensor.double_data());
    case NumberType::f16:
    case NumberType::bf16: {
      const Array<std::uint16_t> bits = copy_of<std::uint16_t>(tensor.int32_data());
      return values_of(type, std::as_bytes(bits.span()));
    }
    case NumberType::i64:
      return copy_of<std::int64_t>(tensor.int64_data());
    default:
      return copy_of<std::int64_t>(tensor.int32_data());
  }
}

int field_size(int type, const TensorProto& tensor) {
  switch (type) {
    case TensorProto::FLOAT:
      return tensor.float_data_size();
    case TensorProto::DOUBLE:
      return tensor.double_data_size();
    case TensorProto::INT64:
      return tensor.int64_data_size();
    default:
      return tensor.int32_data_size();
  }
}

std::optional<std::size_t> parsed_number(const std::string& text) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

std::string type_name(std::int64_t type) {
  return std::in_range<int>(type) && TensorProto::DataType_IsValid(static_cast<int>(type))
             ? std::string(TensorProto::DataType_Name(static_cast<TensorProto::DataType>(type)))
             : fmt::format("type {}", type);
}

void TensorReader::fail(const std::string& what, const std::string& problem) const {
  throw DataError(fmt::format("{}: {}: {}", file_, what, problem));
}

Shape TensorReader::shape_of(const google::protobuf::RepeatedField<std::int64_t>& dims, const std::string& what) const {
  Shape shape;
  for (const std::int64_t extent : dims) {
    if (extent < 0) fail(what, fmt::format("an axis of length {}", extent));
    shape.push_back(extent);
  }
  if (shape.size() > kMostAxes) fail(what, fmt::format("{} axes are more than {}", shape.size(), kMostAxes));
  const std::optional<Offset> count = elements(shape);
  if (!count || *count > std::numeric_limits<std::size_t>::max() / 8)
    fail(what, fmt::format("{} elements exceed the address space", shape_text(shape)));
  return shape;
}

Array<std::int64_t> TensorReader::places(const Constant& indices, const Shape& shape, const std::string& what) {
  if (!indices.integers()) fail(what, "its indices are not integers");
  const std::size_t axes = indices.shape.size() == 1 ? 1 : shape.size();
  if (indices.shape.empty() || indices.shape.size() > 2 ||
      (indices.shape.size() == 2 && indices.shape[1] != static_cast<Extent>(axes)))
    fail(what, fmt::format("its indices are of shape {}, expected one or {} for each value", shape_text(indices.shape),
                           shape.size()));
  const std::size_t count = indices.size() / std::max<std::size_t>(axes, 1);
  budget_.take(count * sizeof(std::int64_t));
  const auto all = static_cast<std::int64_t>(*elements(shape));
  const auto places = allocate<std::int64_t>(count);
  for (std::size_t i = 0; i < count; ++i) {
    std::int64_t place = 0;
    bool inside = true;
    for (std::size_t axis = 0; axis < axes; ++axis) {
      const std::int64_t index = indices.ints()[i * axes + axis];
      const std::int64_t length = indices.shape.size() == 1 ? all : shape[axis];
      inside = inside && index >= 0 && index < length;
      if (inside) place = place * length + index;
    }
    if (!inside) fail(what, fmt::format("the index of its value {} lies outside {}", i, shape_text(shape)));
    if (i > 0 && place <= places[static_cast<std::ptrdiff_t>(i) - 1])
      fail(what, fmt::format("its indices do not ascend at value {}", i));
    places[static_cast<std::ptrdiff_t>(i)] = place;
  }
  return {places, count};
}

SparseConstant TensorReader::read(const onnx::SparseTensorProto& tensor, const std::string& what) {
  const Shape shape = shape_of(tensor.dims(), what);
  if (*elements(shape) == 0) fail(what, fmt::format("{}: empty tensors are not supported", shape_text(shape)));
  const Constant values = read(tensor.values(), what + ": values");
  if (values.integers()) fail(what, "its values are integers, expected floating-point numbers");
  SparseConstant constant{shape, std::get<0>(values.values), {}, values.type};
  if (values.size() > 0) constant.places = places(read(tensor.indices(), what + ": indices"), shape, what);
  if (values.shape.size() != 1 || constant.values.size() != constant.places.size())
    fail(what, fmt::format("{} values and {} indices", constant.values.size(), constant.places.size()));
  return constant;
}

Constant TensorReader::read(const TensorProto& tensor, const std::string& what) {
  const auto type = number_type(tensor.data_type());
  if (!type)
    fail(what, type_name(tensor.data_type()) +
                   " is not supported: expected FLOAT, DOUBLE, FLOAT16, BFLOAT16, INT64, INT32, INT16, INT8, UINT16, "
                   "UINT8 or BOOL");
  if (tensor.has_segment()) fail(what, "tensors in segments are not supported");
  Constant constant{.shape = shape_of(tensor.dims(), what), .values = {}};
  const std::optional<Offset> count = elements(constant.shape);
  if (*count == 0 && constant.shape.size() > 1)
    fail(what, fmt::format("{}: empty tensors are supported only with one axis", shape_text(constant.shape)));
  const auto expect = [&](std::size_t there, std::size_t expected, const char* unit) {
    if (there != expected)
      fail(what, fmt::format("{} {} where {} of {} need {}", there, unit, shape_text(constant.shape),
                             type_name(tensor.data_type()), expected));
  };
  std::string external;
  const bool outside = tensor.data_location() == TensorProto::EXTERNAL;
  const bool raw = outside || tensor.has_raw_data();
  if (outside) {
    external = external_bytes(tensor, *count * bytes_of(*type), what);
  } else if (raw) {
    expect(tensor.raw_data().size(), *count * bytes_of(*type), "bytes of raw_data");
  } else {
    expect(static_cast<std::size_t>(field_size(tensor.data_type(), tensor)), *count, "elements");
  }
  budget_.take(*count * (is_whole(*type) ? sizeof(std::int64_t) : sizeof(float)));
  constant.values = raw ? values_of(*type, std::as_bytes(std::span(outside ? external : tensor.raw_data())))
                        : values_of(*type, tensor);
  constant.type = *type;
  return constant;
}

void TensorReader::check_unchanged() const {
  for (const auto& [location, file] : companions_) file->check_unchanged();
}

std::string TensorReader::external_bytes(const TensorProto& tensor, std::size_t expected, const std::string& what) {
  std::string location;
  std::size_t offset = 0;
  std::size_t length = expected;
  for (const onnx::StringStringEntryProto& entry : tensor.external_data()) {
    if (entry.key() == "location") {
      location = entry.value();
    } else if (entry.key() == "offset" || entry.key() == "length") {
      const auto number = parsed_number(entry.value());
      if (!number) fail(what, fmt::format("external data: {} '{}' is not a number", entry.key(), entry.value()));
      (entry.key() == "offset" ? offset : length) = *number;
    } else if (entry.key() != "checksum") {
      fail(what, fmt::format("external data: '{}' is none of location, offset, length, checksum", entry.key()));
    }
  }
  const InputFile& file = companion(location, what);
  if (length != expected)
    fail(what, fmt::format("external data: {} bytes where the shape and type need {}", length, expected));
  if (offset > file.size() || length > file.size() - offset)
    fail(what, fmt::format("external data: bytes {} to {} lie beyond the {} of '{}'", offset, offset + length,
                           file.size(), location));
  budget_.take(length);
  std::string bytes(length, '\0');
  file.read(offset, std::as_writable_bytes(std::span(bytes)));
  return bytes;
}

const InputFile& TensorReader::companion(const std::string& location, const std::string& what) {
  if (const auto known = companions_.find(location); known != companions_.end()) return *known->second;
  namespace fs = std::filesystem;
  if (location.empty() || location.find('\0') != std::string::npos)
    fail(what, "external data: no location, which names a file");
  std::error_code error;
  const fs::path folder = fs::weakly_canonical(folder_.empty() ? fs::path(".") : folder_, error);
  const fs::path path = error ? fs::path() : fs::weakly_canonical(folder / location, error);
  if (error) fail(what, fmt::format("external data: '{}': {}", location, error.message()));
  const auto [rest, ignored] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  if (fs::path(location).is_absolute() || rest != folder.end())
    fail(what, fmt::format("external data: '{}' lies outside the folder of the model", location));
  if (fs::equivalent(path, file_, error))
    fail(what, fmt::format("external data: '{}' is the model itself, expected another file", location));
  try {
    auto file = std::make_unique<const InputFile>(path);
    budget_.allow(file->size());
    return *(companions_[location] = std::move(file));
  } catch (const DataError& missing) {
    fail(what, fmt::format("external data: {}", missing.what()));
  }
}

}  // namespace spdnn::onnx_reader
