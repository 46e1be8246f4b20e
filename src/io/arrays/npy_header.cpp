#include "io/arrays/npy_header.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "spdnn/error.hpp"

namespace spdnn {

namespace {

constexpr std::string_view kMagic{"\x93NUMPY", 6};
constexpr std::size_t kVersionEnd = 8;  ///< bytes of magic and version
constexpr std::size_t kAlignment = 64;

constexpr std::array<std::pair<std::string_view, NumberType>, 12> kTypes{{{"f2", NumberType::f16},
                                                                          {"f4", NumberType::f32},
                                                                          {"f8", NumberType::f64},
                                                                          {"i1", NumberType::i8},
                                                                          {"i2", NumberType::i16},
                                                                          {"i4", NumberType::i32},
                                                                          {"i8", NumberType::i64},
                                                                          {"u1", NumberType::u8},
                                                                          {"u2", NumberType::u16},
                                                                          {"u4", NumberType::u32},
                                                                          {"u8", NumberType::u64},
                                                                          {"b1", NumberType::boolean}}};

/// The header's dictionary, which is a Python literal: {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }.
class Dictionary {
 public:
  Dictionary(const std::string& name, std::string_view text) : name_(name), text_(text), rest_(text) {
    expect('{');
    while (!take('}')) {
      read_entry();
      if (!take(',') && !next_is('}')) fail("',' or '}'");
    }
    skip_spaces();
    if (!rest_.empty()) fail("nothing after '}'");
    if (!type_ || !by_columns_ || !shape_)
      throw DataError(name_ + ": the .npy header lacks one of 'descr', 'fortran_order' and 'shape'");
  }

  const std::string& type() const { return *type_; }
  bool by_columns() const { return *by_columns_; }
  const Shape& shape() const { return *shape_; }

 private:
  [[noreturn]] void fail(const std::string& expected) const {
    throw DataError(fmt::format("{}: byte {} of the .npy header's dictionary, expected {}", name_,
                                text_.size() - rest_.size() + 1, expected));
  }
  void skip_spaces() {
    const std::size_t begin = rest_.find_first_not_of(" \t\r\n");
    rest_.remove_prefix(std::min(begin, rest_.size()));
  }
  bool next_is(char c) {
    skip_spaces();
    return rest_.starts_with(c);
  }
  bool take(char c) {
    if (!next_is(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool take(std::string_view word) {
    skip_spaces();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  void expect(char c) {
    if (!take(c)) fail(fmt::format("'{}'", c));
  }

  void read_entry() {
    const std::string key = quoted();
    expect(':');
    if (key == "descr") return read_type();
    if (key == "fortran_order") {
      by_columns_ = take("True");
      if (!*by_columns_ && !take("False")) fail("True or False");
      return;
    }
    if (key == "shape") return read_shape();
    throw DataError(
        fmt::format("{}: the .npy header has '{}', expected 'descr', 'fortran_order' and 'shape'", name_, key));
  }
  std::string quoted() {
    const char quote = next_is('"') ? '"' : '\'';
    expect(quote);
    const std::size_t end = rest_.find(quote);
    if (end == std::string_view::npos) fail("a closing quote");
    std::string word(rest_.substr(0, end));
    rest_.remove_prefix(end + 1);
    return word;
  }
  void read_type() {
    if (next_is('[')) throw DataError(name_ + ": an array of structures, expected an array of numbers");
    type_ = quoted();
  }
  void read_shape() {
    constexpr std::size_t kMostAxes = 64;  // NumPy's limit
    shape_.emplace();
    expect('(');
    while (!take(')')) {
      shape_->push_back(extent());
      if (shape_->size() > kMostAxes) fail(fmt::format("at most {} axes", kMostAxes));
      if (!take(',') && !next_is(')')) fail("',' or ')'");
    }
  }
  Extent extent() {
    skip_spaces();
    Extent value = 0;
    const auto [end, problem] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (problem != std::errc{} || value < 0)
      fail(fmt::format("a length from 0 to {}", std::numeric_limits<Extent>::max()));
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    take('L');  // Python 2 marks large numbers in this way
    return value;
  }

  const std::string& name_;
  std::string_view text_;
  std::string_view rest_;
  std::optional<std::string> type_;
  std::optional<bool> by_columns_;
  std::optional<Shape> shape_;
};

/// Returns the dictionary's text and the offset of the numbers.
std::pair<std::string, std::size_t> read_text(const InputFile& file) {
  const auto cut = [&] { return DataError(file.name() + ": ends within the .npy header"); };
  std::array<std::uint8_t, kVersionEnd + 4> start{};
  const std::size_t got = std::min(start.size(), file.size());
  file.read(0, std::as_writable_bytes(std::span(start).first(got)));
  if (got < kMagic.size() || !std::equal(kMagic.begin(), kMagic.end(), start.begin(), [](char c, std::uint8_t byte) {
        return static_cast<std::uint8_t>(c) == byte;
      }))
    throw DataError(file.name() + ": does not begin with \\x93NUMPY, expected an .npy file");
  if (got < start.size()) throw cut();
  const unsigned version = start[6];
  if (version < 1 || version > 3 || start[7] != 0)
    throw DataError(fmt::format("{}: version {}.{} of .npy, expected 1.0, 2.0 or 3.0", file.name(), version, start[7]));

  std::size_t length = start[8] | std::size_t{start[9]} << 8U;
  if (version > 1) length |= std::size_t{start[10]} << 16U | std::size_t{start[11]} << 24U;
  const std::size_t begin = kVersionEnd + (version == 1 ? 2 : 4);
  constexpr std::size_t kLongest = 65535;  // longer headers belong to structures with very many fields
  if (length > kLongest)
    throw DataError(fmt::format("{}: an .npy header of {} bytes, expected at most {}", file.name(), length, kLongest));
  if (length > file.size() - begin) throw cut();
  std::string text(length, '\0');
  file.read(begin, std::as_writable_bytes(std::span(text)));
  return {text, begin + length};
}

std::pair<NumberType, bool> type_of(const std::string& name, const std::string& text) {
  if (text.find('O') != std::string::npos)
    throw DataError(name + ": holds pickled Python objects, which are not read; expected an array of numbers");
  const char order = text.empty() ? '\0' : text.front();
  const auto* found = std::find_if(kTypes.begin(), kTypes.end(), [&](const auto& type) {
    return std::string_view("<>|=").find(order) != std::string_view::npos && text.substr(1) == type.first;
  });
  if (found == kTypes.end() || (order == '|' && bytes_of(found->second) > 1))
    throw DataError(fmt::format(
        "{}: numbers of type '{}', expected float16 to float64, int8 to int64, uint8 to uint64 or bool", name, text));
  return {found->second, order == '>'};
}

}  // namespace

NpyHeader read_npy_header(const InputFile& file) {
  const auto [text, begin] = read_text(file);
  const Dictionary dictionary(file.name(), text);
  const auto [type, big_endian] = type_of(file.name(), dictionary.type());
  const Shape& shape = dictionary.shape();
  const std::optional<Offset> count = elements(shape);
  if (!count)
    throw DataError(fmt::format("{}: an array of {}, which exceeds the address space", file.name(), shape_text(shape)));
  const StoredNumbers numbers{begin, *count, type, big_endian};
  const std::size_t bytes = file.size() - begin;
  if (!lies_within(file, numbers) || *count * bytes_of(type) != bytes)
    throw DataError(fmt::format("{}: holds {} bytes of numbers, expected {} numbers of {} bytes each for a shape of {}",
                                file.name(), bytes, *count, bytes_of(type), shape_text(shape)));
  return {numbers, dictionary.by_columns(), shape};
}

std::string npy_header(const std::string& type, const Shape& shape) {
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': (", type);
  for (const Extent extent : shape) text += fmt::format("{}, ", extent);
  if (shape.size() > 1) text.resize(text.size() - 2);
  if (shape.size() == 1) text.resize(text.size() - 1);
  text += "), }";
  const std::size_t before = kVersionEnd + 2;
  const std::size_t total = (before + text.size() + 1 + kAlignment - 1) / kAlignment * kAlignment;
  text.resize(total - before - 1, ' ');
  text += '\n';
  const auto length = static_cast<std::uint16_t>(text.size());
  return std::string(kMagic) + '\1' + '\0' + static_cast<char>(length & 0xffU) + static_cast<char>(length >> 8U) + text;
}

}  // namespace spdnn
