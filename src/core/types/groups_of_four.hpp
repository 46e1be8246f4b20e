#pragma once

#include <fmt/format.h>

#include <string>

#include "spdnn/weights.hpp"

namespace spdnn {

inline constexpr Index kGroupInputs = 4;        ///< inputs of a group
inline constexpr std::size_t kGroupValues = 2;  ///< values of a group

/// A group of a row of a 2:4 matrix: four inputs at one tap.
struct GroupOfFour {
  Index row;
  Index tap;
  Index first;    ///< place in the order of inputs
  Offset number;  ///< in the matrix
};

/// The column of a place in the order of inputs.
inline Index column_of(const TypedMatrix& matrix, Index tap, Index place) {
  const Index input = matrix.order.empty() ? place : matrix.order[std::size_t{tap} * matrix.inputs() + place];
  return input * matrix.taps + tap;
}

/// Calls work(GroupOfFour) for all groups of a row, in order.
template <class Work>
void for_groups(const TypedMatrix& matrix, Index row, const Work& work) {
  Offset number = Offset{row} * matrix.taps * matrix.groups();
  for (Index tap = 0; tap < matrix.taps; ++tap)
    for (Index first = 0; first < matrix.inputs(); first += kGroupInputs) work(GroupOfFour{row, tap, first, number++});
}

inline std::string text_of(const TypedMatrix& matrix, const GroupOfFour& group) {
  const std::string tap = matrix.taps == 1 ? "" : fmt::format(" at tap {}", group.tap + 1);
  return fmt::format("row {}, {} {} to {}{}", group.row + 1, matrix.order.empty() ? "inputs" : "places",
                     group.first + 1, group.first + kGroupInputs, tap);
}

}  // namespace spdnn
