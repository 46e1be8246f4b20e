#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/types/counted_csr.hpp"
#include "core/types/groups_of_four.hpp"
#include "spdnn/weights.hpp"

namespace spdnn {

namespace {

[[noreturn]] void bad_matrix(const std::string& problem) { throw std::invalid_argument(problem); }

/// The place of one of a group's values in the order of inputs.
Index place_of(const TypedMatrix& matrix, const GroupOfFour& group, std::size_t which) {
  const unsigned both = matrix.places[group.number / 2] >> (group.number % 2 * 4);
  return group.first + (both >> 2 * which & 3U);
}

void check_order(const TypedMatrix& matrix) {
  if (matrix.order.empty()) return;
  if (matrix.order.size() != matrix.cols)
    bad_matrix(fmt::format("an order of {} inputs, expected {}", matrix.order.size(), matrix.cols));
  for (Index tap = 0; tap < matrix.taps; ++tap) {
    std::vector<bool> found(matrix.inputs());
    for (const Index input : matrix.order.span().subspan(std::size_t{tap} * matrix.inputs(), matrix.inputs())) {
      if (input >= matrix.inputs() || found[input])
        bad_matrix(fmt::format("the order at tap {} has input {} twice, or there is none", tap + 1, input + 1));
      found[input] = true;
    }
  }
}

void decode_groups(const TypedMatrix& matrix, Index row, float* to) {
  for_groups(matrix, row, [&](const GroupOfFour& group) {
    for (const std::size_t which : {0U, 1U}) {
      const Index place = place_of(matrix, group, which);
      if (place < matrix.inputs())
        to[column_of(matrix, group.tap, place)] = matrix.values.value(row, kGroupValues * group.number + which);
    }
  });
}

/// The entries beside the groups, which must have no value in a group.
void check_rest(const TypedMatrix& matrix) {
  if (matrix.offsets.empty() && matrix.indices.empty()) return;
  CsrMatrix{matrix.rows, matrix.cols, matrix.offsets, matrix.indices, {}}.validate();
  std::vector<float> grouped(matrix.cols);
  for (Index row = 0; row < matrix.rows; ++row) {
    std::fill(grouped.begin(), grouped.end(), 0.0F);
    decode_groups(matrix, row, grouped.data());
    for (Offset k = matrix.offsets[row]; k < matrix.offsets[std::size_t{row} + 1]; ++k)
      if (grouped[matrix.indices[k]] != 0)
        bad_matrix(fmt::format("row {}: column {} has a value in a group and another", row + 1, matrix.indices[k] + 1));
  }
}

void check_groups(const TypedMatrix& matrix) {
  const Offset groups = Offset{matrix.rows} * matrix.taps * matrix.groups();
  if (matrix.places.size() != (groups + 1) / 2)
    bad_matrix(fmt::format("{} bytes of places, expected {} for {} groups of four", matrix.places.size(),
                           (groups + 1) / 2, groups));
  if (groups % 2 != 0 && matrix.places.back() >> 4U != 0) bad_matrix("bits after the last place are not zero");
  for (Index row = 0; row < matrix.rows; ++row)
    for_groups(matrix, row, [&](const GroupOfFour& group) {
      const Index first = place_of(matrix, group, 0);
      const Index second = place_of(matrix, group, 1);
      if (first >= second)
        bad_matrix(fmt::format("{}: places {} and {} do not ascend", text_of(matrix, group), first - group.first,
                               second - group.first));
      for (const std::size_t which : {0U, 1U})
        if (place_of(matrix, group, which) >= matrix.inputs() &&
            matrix.values.value(row, kGroupValues * group.number + which) != 0)
          bad_matrix(fmt::format("{}: a value beyond the last input, {}", text_of(matrix, group), matrix.inputs()));
    });
}

/// Writes the values of a row to `to`, which holds zeros.
void decode_row(const TypedMatrix& matrix, Index row, float* to) {
  switch (matrix.pattern) {
    case Pattern::dense:
      for (Index column = 0; column < matrix.cols; ++column)
        to[column] = matrix.values.value(row, std::size_t{row} * matrix.cols + column);
      return;
    case Pattern::csr:
      for (Offset k = matrix.offsets[row]; k < matrix.offsets[std::size_t{row} + 1]; ++k)
        to[matrix.indices[k]] = matrix.values.value(row, k);
      return;
    case Pattern::two_of_four:
      decode_groups(matrix, row, to);
      if (matrix.offsets.empty()) return;
      for (Offset k = matrix.offsets[row]; k < matrix.offsets[std::size_t{row} + 1]; ++k)
        to[matrix.indices[k]] = matrix.values.value(row, matrix.group_values() + k);
  }
}

/// The entries as they are stored, zeros too.
CsrMatrix csr_with_zeros(const TypedMatrix& matrix) {
  const auto values = allocate<float>(matrix.values.count);
  for (Index row = 0; row < matrix.rows; ++row)
    for (Offset k = matrix.offsets[row]; k < matrix.offsets[std::size_t{row} + 1]; ++k)
      values[static_cast<std::ptrdiff_t>(k)] = matrix.values.value(row, k);
  return {matrix.rows, matrix.cols, matrix.offsets, matrix.indices, {values, matrix.values.count}};
}

}  // namespace

Offset TypedMatrix::needed_values() const {
  switch (pattern) {
    case Pattern::dense:
      return Offset{rows} * cols;
    case Pattern::csr:
      return indices.size();
    case Pattern::two_of_four:
      return group_values() + indices.size();
  }
  return 0;
}

std::size_t TypedMatrix::bytes() const {
  return offsets.bytes() + indices.bytes() + places.bytes() + order.bytes() + values.size_bytes();
}

void TypedMatrix::validate() const {
  if (rows > kMaxIndex || cols > kMaxIndex) bad_matrix("more than 2^31-1 rows or columns");
  if (pattern > Pattern::two_of_four) bad_matrix("an unknown pattern");
  if (taps == 0 || (pattern != Pattern::two_of_four && taps != 1) || cols % taps != 0)
    bad_matrix(fmt::format("{} taps do not fit {} columns of a matrix of this pattern", taps, cols));
  if (pattern == Pattern::csr) CsrMatrix{rows, cols, offsets, indices, {}}.validate();
  if (values.count != needed_values()) bad_matrix(fmt::format("{} values, expected {}", values.count, needed_values()));
  values.validate(rows);
  if (pattern != Pattern::two_of_four) {
    if (!order.empty()) bad_matrix("an order of inputs, which only 2:4 has");
    return;
  }
  check_order(*this);
  check_groups(*this);
  check_rest(*this);
}

CsrMatrix decoded(const TypedMatrix& matrix) {
  if (matrix.pattern == Pattern::csr) {
    CsrMatrix csr = csr_with_zeros(matrix);
    if (std::none_of(csr.values.begin(), csr.values.end(), [](float value) { return value == 0; })) return csr;
  }
  CountedCsr csr(matrix.rows, matrix.cols);
  std::vector<float> dense(matrix.cols);
  const auto for_non_zeros = [&](const auto& work) {
    for (Index row = 0; row < matrix.rows; ++row) {
      std::fill(dense.begin(), dense.end(), 0.0F);
      decode_row(matrix, row, dense.data());
      for (Index column = 0; column < matrix.cols; ++column)
        if (dense[column] != 0) work(row, column);
    }
  };
  for_non_zeros([&](Index row, Index) { ++csr.count(row); });
  csr.make_room();
  Offset entry = 0;
  for_non_zeros([&](Index, Index column) { csr.put(entry++, column, dense[column]); });
  return csr.matrix();
}

}  // namespace spdnn
