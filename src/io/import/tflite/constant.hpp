#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "io/import/budget.hpp"
#include "io/import/tflite/schema.hpp"
#include "spdnn/csr_matrix.hpp"
#include "spdnn/tensor.hpp"

namespace spdnn::tflite_reader {

/// More axes than any network has.
inline constexpr std::size_t kMostAxes = 8;

/// Weights in the file's order of axes, as fp32, all of them finite.
struct Constant {
  Shape shape;
  Array<float> values;
  /// Of a sparse tensor: where each of the values lies in the dense one, row by row; all others are zero.
  std::optional<Array<Offset>> places;

  Offset size() const { return *elements(shape); }
};

/// DataError, beginning with `where`, unless the tensor is constant, of FLOAT32 or FLOAT16, and fits its buffer.
Constant read_constant(const tflite::Model& model, const tflite::Tensor& tensor, const std::string& where,
                       Budget& budget);
/// The same of integers: INT32 or INT64, dense.
std::vector<std::int64_t> read_integers(const tflite::Model& model, const tflite::Tensor& tensor,
                                        const std::string& where);

/// The shape of a tensor, all of whose lengths are in 1..2^31-1.
Shape shape_of(const tflite::Tensor& tensor, const std::string& where);
/// Whether the tensor has bytes in the file.
bool is_constant(const tflite::Model& model, const tflite::Tensor& tensor);
/// DataError for types that are neither FLOAT32 nor FLOAT16.
void require_floats(const tflite::Tensor& tensor, const std::string& where);

/// The constant with all of its zeros.
Constant densified(const Constant& constant, Budget& budget);
/// The constant with its axes in another order: axis i of the result is axis order[i].
Constant transposed(const Constant& constant, const std::vector<Index>& order, Budget& budget);

/// Where an element goes in a matrix: the sum over its axes of its coordinate times these.
struct Placement {
  std::array<Offset, 4> row{};
  std::array<Offset, 4> col{};
};
/// The matrix of the non-zeros of a constant with up to four axes. The columns of a row ascend.
CsrMatrix matrix_of(const Constant& constant, Index rows, Index cols, const Placement& placement, Budget& budget);

}  // namespace spdnn::tflite_reader
