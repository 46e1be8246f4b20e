#pragma once

#include <cstdint>
#include <span>
#include <variant>

#include "spdnn/array.hpp"
#include "spdnn/csr_matrix.hpp"
#include "spdnn/types.hpp"

namespace spdnn {

/// A dense matrix of bits, one row after another, each padded with zero bits to whole 64-bit words, lowest bit first.
struct BitMatrix {
  Index rows = 0;
  Index cols = 0;
  Array<std::uint64_t> words{};  ///< rows x words_per_row()

  std::size_t words_per_row() const { return (std::size_t{cols} + 63) / 64; }
  const std::uint64_t* row(Index i) const { return words.data() + i * words_per_row(); }
  bool test(Index i, Index j) const { return (row(i)[j / 64] >> (j % 64) & 1U) != 0; }
};

/// The input images, one row per image. Images of zeros and ones are stored as bits or as CSR, whichever is smaller;
/// images with other values as CSR.
struct ImageSet {
  std::variant<CsrMatrix, BitMatrix> data;

  Index images() const;
  Index neurons() const;
  Offset nonzeros() const;     ///< O(1) for CSR; one pass for bits
  Index empty_images() const;  ///< images without a non-zero; one pass
  bool binary() const;         ///< no value but 0 and 1; one pass for CSR with a value per entry
  float max_value() const;     ///< 0 for an empty set
  std::size_t bytes() const;
  bool is_bits() const { return std::holds_alternative<BitMatrix>(data); }
  const BitMatrix& bits() const { return std::get<BitMatrix>(data); }
  const CsrMatrix& sparse() const { return std::get<CsrMatrix>(data); }

  /// Throws std::invalid_argument if the arrays are not valid images: see CsrMatrix::validate(); for bits, a wrong
  /// number of words or a bit beyond the last neuron. One parallel pass over CSR; over the last words of rows for bits.
  void validate() const;

  /// The data in the other form. to_bits() needs values that are all 1 (std::invalid_argument otherwise).
  CsrMatrix to_csr() const;
  BitMatrix to_bits() const;
  /// Images first .. first+count-1; shares storage.
  ImageSet slice(Index first, Index count) const;
  /// A copy of the images named, in that order.
  ImageSet select(std::span<const Index> images) const;
};

/// Chooses the form: `sparse` unchanged, or bits if all its values are 1 and bits take less memory.
ImageSet make_image_set(CsrMatrix sparse);

}  // namespace spdnn
