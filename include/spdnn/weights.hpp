#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "spdnn/csr_matrix.hpp"
#include "spdnn/values.hpp"

namespace spdnn {

/// Which elements of a matrix have a stored value.
enum class Pattern : std::uint8_t { dense, csr, two_of_four };

/// A matrix whose values have a type. Rows are outputs. A column is input x taps + tap: a convolution has as many taps
/// as its kernel has places, a linear node one. All arrays are in the order of rows.
///
/// dense: rows x cols values, row-major.
///
/// csr: `offsets` and `indices` as in CsrMatrix, and a value for each entry.
///
/// two_of_four: of each four neighbouring inputs at most two have a value. A row is, for each tap, ceil(inputs / 4)
/// groups of four inputs, and a group has two values: value 2k and 2k + 1 are those of group k. Their places in the
/// group, 0 to 3, ascend, and lie in 4 bits: the first place in bits 0 and 1, the second in bits 2 and 3; group k has
/// the lower half of byte k / 2 of `places` where k is even, the upper half otherwise. A group with fewer non-zeros
/// stores zeros; a place beyond the last input holds a zero. With an `order`, each tap has its inputs in an order of
/// its own, and neighbours are those of this order. Entries that do not fit into the groups are stored as in csr, their
/// values after those of the groups.
struct TypedMatrix {
  Index rows = 0;
  Index cols = 0;
  Pattern pattern = Pattern::dense;
  Index taps = 1;                ///< of two_of_four
  Array<Offset> offsets{};       ///< of csr, and of what two_of_four stores as csr: empty if that is nothing
  Array<Index> indices{};        ///< of the same: ascend in each row
  Array<std::uint8_t> places{};  ///< of two_of_four
  Array<Index> order{};          ///< of two_of_four: the inputs of each tap, taps x inputs; empty: ascending
  Values values{};

  Index inputs() const { return taps == 0 ? 0 : cols / taps; }
  /// The number of groups of four inputs in a row at one tap.
  Offset groups() const { return (Offset{inputs()} + 3) / 4; }
  /// The values of all groups of two_of_four.
  Offset group_values() const { return Offset{2} * rows * taps * groups(); }
  /// The values that its pattern needs.
  Offset needed_values() const;
  std::size_t bytes() const;
  /// Throws std::invalid_argument, naming a wrong row and group, if the arrays do not form a matrix.
  void validate() const;
};

/// The values that are not zero, as fp32; columns ascend. The matrix must be valid.
CsrMatrix decoded(const TypedMatrix& matrix);

/// The matrix with the pattern and the type, and scale 1. `order` is that of two_of_four: of more than two non-zeros in
/// a group, the first two are in the group. std::invalid_argument, naming the row, if the type does not have a value.
TypedMatrix typed_matrix(const CsrMatrix& matrix, Pattern pattern, DataType type, Index taps = 1,
                         Array<Index> order = {});
/// The same values as a palette, with the fewest bits. std::invalid_argument where more than 65536 are different.
TypedMatrix with_palette(TypedMatrix matrix);

/// The weights of a node in the form that they were given in: an fp32 CSR matrix, or a TypedMatrix. Every engine and
/// the reference compute with csr(), so results do not depend on the form. Copies share their data.
class Weights {
 public:
  Weights() = default;
  Weights(CsrMatrix matrix) : csr_(std::move(matrix)) {}  // NOLINT(google-explicit-constructor): one of the forms
  explicit Weights(TypedMatrix matrix);

  Index rows() const { return typed() == nullptr ? csr_.rows : typed()->rows; }
  Index cols() const { return typed() == nullptr ? csr_.cols : typed()->cols; }
  /// The matrix as fp32. A TypedMatrix, which must be valid, is decoded at the first call, from any thread, and kept.
  const CsrMatrix& csr() const;
  operator const CsrMatrix&() const { return csr(); }  // NOLINT(google-explicit-constructor): a view of itself
  const CsrMatrix* operator->() const { return &csr(); }
  /// nullptr if the form is an fp32 CSR matrix.
  const TypedMatrix* typed() const;
  /// Bytes of the given form, without the matrix that csr() caches.
  std::size_t bytes() const { return typed() == nullptr ? csr_.bytes() : typed()->bytes(); }
  /// As inspect shows it: `csr f32`, `dense f16`, `2:4 i8`, `2:4 f32 ordered + 12 csr`, `csr f32 palette of 16`.
  std::string form() const;

 private:
  struct Typed;

  CsrMatrix csr_;
  std::shared_ptr<Typed> typed_;  ///< nullptr: the weights are csr_
};

}  // namespace spdnn
