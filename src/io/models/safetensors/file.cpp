#include "io/models/safetensors/file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/text/json_text.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

namespace {

constexpr std::size_t kLengthBytes = 8;
constexpr std::uint64_t kLongestHeader = 100'000'000;  ///< the limit of the format's reference implementation
constexpr const char* kMetadata = "__metadata__";

constexpr std::array<std::pair<std::string_view, NumberType>, 13> kTypes{{{"F16", NumberType::f16},
                                                                          {"BF16", NumberType::bf16},
                                                                          {"F32", NumberType::f32},
                                                                          {"F64", NumberType::f64},
                                                                          {"I8", NumberType::i8},
                                                                          {"I16", NumberType::i16},
                                                                          {"I32", NumberType::i32},
                                                                          {"I64", NumberType::i64},
                                                                          {"U8", NumberType::u8},
                                                                          {"U16", NumberType::u16},
                                                                          {"U32", NumberType::u32},
                                                                          {"U64", NumberType::u64},
                                                                          {"BOOL", NumberType::boolean}}};

std::string header_of(const InputFile& file) {
  const auto cut = [&] { return DataError(file.name() + ": ends within the safetensors header"); };
  if (file.size() < kLengthBytes) throw cut();
  std::uint64_t length = 0;
  file.read(0, std::as_writable_bytes(std::span(&length, 1)));
  if (length > kLongestHeader)
    throw DataError(fmt::format("{}: a header of {} bytes, expected at most {}; is it a safetensors file?", file.name(),
                                length, kLongestHeader));
  if (length > file.size() - kLengthBytes) throw cut();
  std::string header(length, '\0');
  file.read(kLengthBytes, std::as_writable_bytes(std::span(header)));
  if (!header.starts_with('{'))
    throw DataError(file.name() + ": the header does not begin with '{', expected a safetensors file");
  return header;
}

/// One entry of the header, with the checks that concern it alone.
class Entry {
 public:
  Entry(const InputFile& file, std::size_t numbers_begin, const std::string& name, const Json& json)
      : place_(fmt::format("{}: tensor '{}'", file.name(), name)) {
    if (!json.is_object() || json.size() != 3 || !json.contains("dtype") || !json.contains("shape") ||
        !json.contains("data_offsets"))
      fail(fmt::format("{}, expected an object of dtype, shape and data_offsets", shown(json)));
    stored_.numbers.type = type_of(json["dtype"]);
    stored_.shape = shape_of(json["shape"]);
    const Json& offsets = json["data_offsets"];
    if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
        !offsets[1].is_number_unsigned())
      fail(fmt::format("data_offsets {}, expected two positions", shown(offsets)));
    begin_ = offsets[0].get<std::uint64_t>();
    end_ = offsets[1].get<std::uint64_t>();
    const std::uint64_t available = file.size() - numbers_begin;
    if (begin_ > end_ || end_ > available)
      fail(fmt::format("data_offsets {}, expected positions that ascend from 0 to at most {}", shown(offsets),
                       available));
    const std::optional<Offset> count = elements(stored_.shape);
    const std::size_t size = bytes_of(stored_.numbers.type);
    if (!count || *count * size != end_ - begin_)  // no overflow: elements() leaves room for fp64
      fail(fmt::format("{} bytes, expected a shape of {} in numbers of {} bytes", end_ - begin_,
                       shape_text(stored_.shape), size));
    stored_.numbers.count = *count;
    stored_.numbers.offset = numbers_begin + begin_;
  }

  SafetensorsFile::Stored stored() const { return stored_; }
  std::uint64_t begin() const { return begin_; }
  std::uint64_t end() const { return end_; }
  [[noreturn]] void fail(const std::string& problem) const { throw DataError(place_ + ": " + problem); }

 private:
  NumberType type_of(const Json& json) const {
    const auto* found =
        std::find_if(kTypes.begin(), kTypes.end(), [&](const auto& type) { return json == type.first; });
    if (found == kTypes.end())
      fail(fmt::format("dtype {}, expected F16, BF16, F32, F64, I8 to I64, U8 to U64 or BOOL", shown(json)));
    return found->second;
  }
  Shape shape_of(const Json& json) const {
    Shape shape;
    const auto is_extent = [](const Json& extent) {
      return extent.is_number_unsigned() && std::in_range<Extent>(extent.get<std::uint64_t>());
    };
    if (!json.is_array() || !std::all_of(json.begin(), json.end(), is_extent))
      fail(fmt::format("shape {}, expected a list of lengths", shown(json)));
    for (const Json& extent : json) shape.push_back(extent.get<Extent>());
    return shape;
  }

  std::string place_;
  SafetensorsFile::Stored stored_;
  std::uint64_t begin_ = 0;  ///< bytes from the start of the data
  std::uint64_t end_ = 0;
};

/// Checks that every byte after the header belongs to exactly one tensor.
void check_places(const InputFile& file, std::uint64_t available, std::vector<Entry> entries) {
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::pair(a.begin(), a.end()) < std::pair(b.begin(), b.end());
  });
  std::uint64_t end = 0;
  for (const Entry& entry : entries) {
    if (entry.begin() < end)
      entry.fail(fmt::format("begins at byte {}, within another tensor, which ends at {}", entry.begin(), end));
    if (entry.begin() > end)
      entry.fail(
          fmt::format("begins at byte {}, but the tensor before it ends at {}, expected no gap", entry.begin(), end));
    end = entry.end();
  }
  if (end != available)
    throw DataError(fmt::format("{}: the last tensor ends at byte {} of {}, expected no bytes after it", file.name(),
                                end, available));
}

Json parse_header(const InputFile& file, const std::string& header) {
  try {
    return parse_strict_json(header);
  } catch (const JsonProblem& problem) {
    throw DataError(fmt::format("{}: byte {} of the header: {}", file.name(), problem.at + 1, problem.message));
  }
}

}  // namespace

SafetensorsFile::SafetensorsFile(const InputFile& file) : file_(file) {
  const std::string text = header_of(file);
  const Json header = parse_header(file, text);
  const std::size_t begin = kLengthBytes + text.size();
  std::vector<Entry> entries;
  for (const auto& [name, json] : header.items()) {
    if (name == kMetadata) {
      const auto is_text = [](const Json::Member& one) { return one.value.is_string(); };
      if (!json.is_object() || !std::all_of(json.items().begin(), json.items().end(), is_text))
        throw DataError(
            fmt::format("{}: {} is {}, expected an object of strings", file.name(), kMetadata, shown(json)));
      continue;
    }
    entries.emplace_back(file, begin, name, json);
    tensors_.emplace(name, entries.back().stored());
  }
  check_places(file, file.size() - begin, std::move(entries));
}

Tensor SafetensorsFile::read(const std::string& tensor) const {
  const auto found = tensors_.find(tensor);
  if (found == tensors_.end()) throw DataError(fmt::format("{}: has no tensor '{}'", file_.name(), tensor));
  Tensor read{found->second.shape, read_floats(file_, found->second.numbers)};
  require_finite(fmt::format("{}: tensor '{}'", file_.name(), tensor), read.values.span());
  return read;
}

}  // namespace spdnn
