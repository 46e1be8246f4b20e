#include "spdnn/weights.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>
#include <stdexcept>
#include <utility>
#include <vector>

#include "core/types/groups_of_four.hpp"
#include "core/types/narrow_floats.hpp"

namespace spdnn {

namespace {

[[noreturn]] void no_such_form(const std::string& problem) { throw std::invalid_argument(problem); }

/// Numbers as bytes of a type that has them.
class Encoder {
 public:
  Encoder(DataType type, std::size_t count)
      : type_(type), count_(count), bytes_(allocate<std::byte>(count * bytes_of(type))) {
    std::memset(bytes_.get(), 0, count * bytes_of(type));
  }

  void put(std::size_t k, Index row, float value) {
    if (!encode(k, value)) no_such_form(fmt::format("row {}: {} has no value {}", row + 1, name_of(type_), value));
  }
  Values values() const {
    return {.type = type_,
            .count = count_,
            .bytes = {bytes_, count_ * bytes_of(type_)},
            .codes = {},
            .scales = {},
            .zero_points = {}};
  }

 private:
  template <class T>
  bool store(std::size_t k, T number) {
    std::memcpy(bytes_.get() + k * sizeof(T), &number, sizeof(T));
    return true;
  }
  template <class T>
  bool store_whole(std::size_t k, float value) {
    using Limits = std::numeric_limits<T>;
    if (!(value >= float{Limits::min()} && value <= float{Limits::max()})) return false;
    return store(k, static_cast<T>(value)) && static_cast<float>(static_cast<T>(value)) == value;
  }
  bool encode(std::size_t k, float value) {
    switch (type_) {
      case DataType::f32:
        return store(k, value);
      case DataType::f16: {
        const auto bits = f16_of_float(value);
        return bits && store(k, *bits);
      }
      case DataType::bf16: {
        const auto bits = bf16_of_float(value);
        return bits && store(k, *bits);
      }
      case DataType::i8:
        return store_whole<std::int8_t>(k, value);
      case DataType::u8:
        return store_whole<std::uint8_t>(k, value);
    }
    return false;
  }

  DataType type_;
  std::size_t count_;
  std::shared_ptr<std::byte[]> bytes_;
};

/// The values of a 2:4 matrix: those of the groups, then those that do not fit.
struct GroupedValues {
  std::vector<float> grouped;
  std::vector<std::pair<Index, float>> rest;  ///< of a row, by column
};

/// Puts the non-zeros of `dense`, a row, into its groups: sets their places and adds to the values.
void put_row(const TypedMatrix& matrix, Index row, const std::vector<float>& dense, std::uint8_t* places,
             GroupedValues& values) {
  for_groups(matrix, row, [&](const GroupOfFour& group) {
    std::array<Index, kGroupInputs> found{};
    std::size_t count = 0;
    for (Index place = 0; place < kGroupInputs && group.first + place < matrix.inputs(); ++place) {
      const Index column = column_of(matrix, group.tap, group.first + place);
      if (dense[column] == 0) continue;
      if (count < kGroupValues)
        found.at(count++) = place;
      else
        values.rest.emplace_back(column, dense[column]);
    }
    // Fewer than two: zeros at places that ascend.
    std::array<Index, kGroupValues> at{0, 1};
    if (count == 2) at = {found[0], found[1]};
    if (count == 1) at = found[0] == kGroupInputs - 1 ? std::array<Index, 2>{0, 3} : std::array<Index, 2>{found[0], 3};
    for (const Index place : at)
      values.grouped.push_back(
          group.first + place < matrix.inputs() ? dense[column_of(matrix, group.tap, group.first + place)] : 0.0F);
    const unsigned both = at[0] | at[1] << 2U;
    places[static_cast<std::ptrdiff_t>(group.number / 2)] |= static_cast<std::uint8_t>(both << group.number % 2 * 4);
  });
  std::sort(values.rest.begin(), values.rest.end());
}

/// Fills the arrays of a 2:4 matrix, whose size and order are there.
void encode_groups(const CsrMatrix& from, TypedMatrix& to, DataType type) {
  const std::size_t bytes = (to.group_values() / kGroupValues + 1) / 2;
  const auto places = allocate<std::uint8_t>(bytes);
  std::memset(places.get(), 0, bytes);
  std::vector<float> dense(to.cols);
  std::vector<float> all_grouped;
  std::vector<Offset> offsets{0};
  std::vector<Index> indices;
  std::vector<float> rest;
  for (Index row = 0; row < to.rows; ++row) {
    std::fill(dense.begin(), dense.end(), 0.0F);
    for (Offset k = from.offsets[row]; k < from.offsets[std::size_t{row} + 1]; ++k)
      dense[from.indices[k]] = from.entry_value(k);
    GroupedValues values;
    put_row(to, row, dense, places.get(), values);
    all_grouped.insert(all_grouped.end(), values.grouped.begin(), values.grouped.end());
    for (const auto& [column, value] : values.rest) {
      indices.push_back(column);
      rest.push_back(value);
    }
    offsets.push_back(indices.size());
  }
  to.places = {places, bytes};
  if (!indices.empty()) {
    to.offsets = std::move(offsets);
    to.indices = std::move(indices);
  }
  Encoder encoder(type, to.needed_values());
  const Offset in_row = to.rows == 0 ? 0 : to.group_values() / to.rows;
  for (Offset k = 0; k < all_grouped.size(); ++k) encoder.put(k, static_cast<Index>(k / in_row), all_grouped[k]);
  for (Index row = 0; row < to.rows && !rest.empty(); ++row)
    for (Offset k = to.offsets[row]; k < to.offsets[std::size_t{row} + 1]; ++k)
      encoder.put(to.group_values() + k, row, rest[k]);
  to.values = encoder.values();
}

}  // namespace

TypedMatrix typed_matrix(const CsrMatrix& matrix, Pattern pattern, DataType type, Index taps, Array<Index> order) {
  TypedMatrix made{.rows = matrix.rows, .cols = matrix.cols, .pattern = pattern};
  if (pattern == Pattern::two_of_four) {
    made.taps = taps;
    made.order = std::move(order);
    encode_groups(matrix, made, type);
    return made;
  }
  if (pattern == Pattern::csr) {
    made.offsets = matrix.offsets;
    made.indices = matrix.indices;
  }
  Encoder encoder(type, made.needed_values());
  for (Index row = 0; row < matrix.rows; ++row)
    for (Offset k = matrix.offsets[row]; k < matrix.offsets[std::size_t{row} + 1]; ++k)
      encoder.put(pattern == Pattern::csr ? k : std::size_t{row} * matrix.cols + matrix.indices[k], row,
                  matrix.entry_value(k));
  made.values = encoder.values();
  return made;
}

TypedMatrix with_palette(TypedMatrix matrix) {
  const Values& from = matrix.values;
  const std::size_t width = bytes_of(from.type);
  if (from.code_bits != 0) return matrix;
  std::map<std::uint32_t, std::uint16_t> numbers;  // by bits, in the order of the codebook
  std::vector<std::byte> codebook;
  std::vector<std::uint16_t> found(from.count);
  for (std::size_t k = 0; k < from.count; ++k) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, from.bytes.data() + k * width, width);
    const auto [place, is_new] = numbers.try_emplace(bits, static_cast<std::uint16_t>(numbers.size()));
    if (numbers.size() > std::size_t{1} << 16U) no_such_form("more than 65536 different values");
    if (is_new) codebook.insert(codebook.end(), from.bytes.begin() + k * width, from.bytes.begin() + (k + 1) * width);
    found[k] = place->second;
  }
  int bits = 1;
  while (std::size_t{1} << bits < numbers.size()) bits *= 2;
  std::vector<std::byte> codes((from.count * static_cast<std::size_t>(bits) + 7) / 8);
  for (std::size_t k = 0; k < from.count; ++k)
    for (int bit = 0; bit < bits; ++bit)
      if ((found[k] >> bit & 1) != 0) {
        const std::size_t at = k * static_cast<std::size_t>(bits) + static_cast<std::size_t>(bit);
        codes[at / 8] |= std::byte{1} << at % 8;
      }
  matrix.values.code_bits = bits;
  matrix.values.codes = std::move(codes);
  matrix.values.bytes = std::move(codebook);
  return matrix;
}

struct Weights::Typed {
  explicit Typed(TypedMatrix given) : matrix(std::move(given)) {}

  TypedMatrix matrix;
  std::once_flag decode{};
  CsrMatrix csr{};
};

Weights::Weights(TypedMatrix matrix) : typed_(std::make_shared<Typed>(std::move(matrix))) {}

const TypedMatrix* Weights::typed() const { return typed_ == nullptr ? nullptr : &typed_->matrix; }

const CsrMatrix& Weights::csr() const {
  if (typed_ == nullptr) return csr_;
  std::call_once(typed_->decode, [&] { typed_->csr = decoded(typed_->matrix); });
  return typed_->csr;
}

std::string Weights::form() const {
  if (typed_ == nullptr) return "csr f32";
  static constexpr std::array<const char*, 3> kNames{"dense", "csr", "2:4"};
  const Values& values = typed_->matrix.values;
  const TypedMatrix& matrix = typed_->matrix;
  std::string text = fmt::format("{} {}", kNames.at(static_cast<std::size_t>(matrix.pattern)), name_of(values.type));
  if (!matrix.order.empty()) text += " ordered";
  if (matrix.pattern == Pattern::two_of_four && !matrix.indices.empty())
    text += fmt::format(" + {} csr", matrix.indices.size());
  if (values.code_bits != 0) text += fmt::format(" palette of {}", values.bytes.size() / bytes_of(values.type));
  return text;
}

}  // namespace spdnn
