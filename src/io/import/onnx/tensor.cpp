#include "io/import/onnx/tensor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>

namespace spdnn::onnx_reader {

namespace {

using onnx::TensorProto;

static_assert(std::endian::native == std::endian::little, "raw_data is little-endian");

float from_half(std::uint16_t half) {
  const std::uint32_t sign = (half & 0x8000U) << 16U;
  const std::uint32_t exponent = (half >> 10U) & 0x1FU;
  const std::uint32_t fraction = half & 0x3FFU;
  if (exponent == 0) {  // a multiple of 2^-24
    const float size = std::ldexp(static_cast<float>(fraction), -24);
    return sign != 0 ? -size : size;
  }
  const std::uint32_t wide = exponent == 0x1FU ? 0xFFU : exponent + 112U;
  return std::bit_cast<float>(sign | wide << 23U | fraction << 13U);
}

float from_bfloat16(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16U); }

/// How an element type lies in raw_data and in the typed fields.
struct Type {
  std::size_t bytes;  ///< of an element in raw_data
  bool integers;
};

std::optional<Type> type_of(int type) {
  switch (type) {
    case TensorProto::FLOAT:
      return Type{4, false};
    case TensorProto::DOUBLE:
      return Type{8, false};
    case TensorProto::FLOAT16:
    case TensorProto::BFLOAT16:
      return Type{2, false};
    case TensorProto::INT64:
      return Type{8, true};
    case TensorProto::INT32:
      return Type{4, true};
    case TensorProto::BOOL:
      return Type{1, true};
    default:
      return std::nullopt;
  }
}

template <class Stored, class To, class Convert>
Array<To> from_raw(const std::string& raw, Convert convert) {
  const std::size_t count = raw.size() / sizeof(Stored);
  const std::shared_ptr<To[]> to = allocate<To>(count);
  for (std::size_t i = 0; i < count; ++i) {
    Stored element;
    std::memcpy(&element, raw.data() + i * sizeof element, sizeof element);
    to[i] = convert(element);
  }
  return {to, count};
}

template <class To, class Field, class Convert>
Array<To> from_field(const Field& field, Convert convert) {
  const auto count = static_cast<std::size_t>(field.size());
  const std::shared_ptr<To[]> to = allocate<To>(count);
  std::transform(field.begin(), field.end(), to.get(), convert);
  return {to, count};
}

template <class To>
constexpr auto kAs = [](auto value) { return static_cast<To>(value); };

using Values = decltype(Constant::values);

Values decode_raw(int type, const std::string& raw) {
  switch (type) {
    case TensorProto::FLOAT:
      return from_raw<float, float>(raw, kAs<float>);
    case TensorProto::DOUBLE:
      return from_raw<double, float>(raw, kAs<float>);
    case TensorProto::FLOAT16:
      return from_raw<std::uint16_t, float>(raw, from_half);
    case TensorProto::BFLOAT16:
      return from_raw<std::uint16_t, float>(raw, from_bfloat16);
    case TensorProto::INT64:
      return from_raw<std::int64_t, std::int64_t>(raw, kAs<std::int64_t>);
    case TensorProto::INT32:
      return from_raw<std::int32_t, std::int64_t>(raw, kAs<std::int64_t>);
    default:
      return from_raw<std::uint8_t, std::int64_t>(raw, kAs<std::int64_t>);
  }
}

Values decode_field(int type, const TensorProto& tensor) {
  const auto low_half = [](std::int32_t value) { return static_cast<std::uint16_t>(value); };
  switch (type) {
    case TensorProto::FLOAT:
      return from_field<float>(tensor.float_data(), kAs<float>);
    case TensorProto::DOUBLE:
      return from_field<float>(tensor.double_data(), kAs<float>);
    case TensorProto::FLOAT16:
      return from_field<float>(tensor.int32_data(), [&](std::int32_t value) { return from_half(low_half(value)); });
    case TensorProto::BFLOAT16:
      return from_field<float>(tensor.int32_data(), [&](std::int32_t value) { return from_bfloat16(low_half(value)); });
    case TensorProto::INT64:
      return from_field<std::int64_t>(tensor.int64_data(), kAs<std::int64_t>);
    default:
      return from_field<std::int64_t>(tensor.int32_data(), kAs<std::int64_t>);
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

Constant TensorReader::read(const TensorProto& tensor, const std::string& what) {
  const auto type = type_of(tensor.data_type());
  if (!type)
    fail(what, type_name(tensor.data_type()) +
                   " is not read: elements are FLOAT, DOUBLE, FLOAT16, BFLOAT16, INT64, INT32 or BOOL");
  if (tensor.has_segment()) fail(what, "tensors in segments are not read");
  Constant constant;
  for (const std::int64_t extent : tensor.dims()) {
    if (extent < 0) fail(what, fmt::format("an axis of length {}", extent));
    constant.shape.push_back(extent);
  }
  if (constant.shape.size() > kMostAxes)
    fail(what, fmt::format("{} axes are more than {}", constant.shape.size(), kMostAxes));
  const std::optional<Offset> count = elements(constant.shape);
  if (!count || *count > std::numeric_limits<std::size_t>::max() / 8)
    fail(what, fmt::format("{} elements are more than memory addresses", shape_text(constant.shape)));

  if (*count == 0 && constant.shape.size() > 1)
    fail(what, fmt::format("{}: without elements, only lists are read", shape_text(constant.shape)));
  const auto expect = [&](std::size_t there, std::size_t expected, const char* unit) {
    if (there != expected)
      fail(what, fmt::format("{} {} where {} of {} need {}", there, unit, shape_text(constant.shape),
                             type_name(tensor.data_type()), expected));
  };
  std::string external;
  const bool outside = tensor.data_location() == TensorProto::EXTERNAL;
  const bool raw = outside || tensor.has_raw_data();
  if (outside) {
    external = external_bytes(tensor, *count * type->bytes, what);
  } else if (raw) {
    expect(tensor.raw_data().size(), *count * type->bytes, "bytes of raw_data");
  } else {
    expect(static_cast<std::size_t>(field_size(tensor.data_type(), tensor)), *count, "elements");
  }
  budget_.take(*count * (type->integers ? sizeof(std::int64_t) : sizeof(float)));
  constant.values = raw ? decode_raw(tensor.data_type(), outside ? external : tensor.raw_data())
                        : decode_field(tensor.data_type(), tensor);
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
  try {
    auto& file = companions_[location];
    file = std::make_unique<const InputFile>(path);
    budget_.allow(file->size());
    return *file;
  } catch (const DataError& missing) {
    companions_.erase(location);
    fail(what, fmt::format("external data: {}", missing.what()));
  }
}

}  // namespace spdnn::onnx_reader
