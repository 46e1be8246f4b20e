#pragma once

// A convolution as the product of an unfolded input and of filters of which each four neighbouring weights have at most
// two that are not zero. Compiled without CUDA.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/operations/geometry.hpp"
#include "spdnn/weights.hpp"

namespace spdnn::cuda {

/// What a column of the unfolded input is made of: a channel, and how far from the place of an output its input is.
struct alignas(16) ColumnSource {
  std::int32_t channel = -1;  ///< negative: the column is zero
  std::int32_t row = 0;
  std::int32_t column = 0;

  bool same_place(const ColumnSource& other) const { return row == other.row && column == other.column; }
};

/// Filters in the form of a product. Each tap has a column for each channel, in the order of TypedMatrix::order. Of
/// more than two weights of a filter in four neighbouring columns, those beyond two are in further columns, copies of
/// theirs.
class GroupedFilters {
 public:
  /// The weights must be two_of_four.
  GroupedFilters(const Weights& weights, const Window& window);

  Index rows() const { return rows_; }
  /// Their number is a multiple of kColumnsTogether.
  const std::vector<ColumnSource>& columns() const { return columns_; }
  /// Columns that are copies.
  std::size_t copies() const { return copies_; }
  /// Whether the unfolded form of an input N, H, W, C is the input itself, where windows lie side by side.
  bool is_input() const;
  /// All weights, row-major: rows() x columns().size().
  std::vector<float> weights() const;

 private:
  struct Entry {
    Index row;
    std::size_t column;
    float value;
  };

  void add_copies(const std::vector<std::vector<Entry>>& rest);

  Index rows_;
  Index channels_;
  std::vector<ColumnSource> columns_;
  std::size_t copies_ = 0;
  std::vector<Entry> entries_;
};

/// cuSPARSELt's matrices of 16 bits have multiples of these extents.
inline constexpr std::size_t kColumnsTogether = 16;
inline constexpr std::size_t kFiltersTogether = 16;
inline constexpr std::size_t kPixelsTogether = 8;

/// How many pixels are unfolded at a time: the same in each piece, a multiple of kPixelsTogether, and of at most
/// `bytes` if that is possible. `pixels` must be a multiple of kPixelsTogether.
std::size_t pixels_of_piece(std::size_t pixels, std::size_t columns, std::size_t bytes);

}  // namespace spdnn::cuda
