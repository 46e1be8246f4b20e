#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "io/arrays/numbers.hpp"
#include "io/models/budget.hpp"
#include "io/models/tflite/schema.hpp"
#include "spdnn/csr_matrix.hpp"
#include "spdnn/tensor.hpp"

namespace spdnn::tflite_reader {

/// An upper limit on the rank of tensors.
inline constexpr std::size_t kMostAxes = 8;

/// Weights in the file's order of axes, as fp32, all of them finite.
struct Constant {
  Shape shape;
  Array<float> values;
  /// For a sparse tensor, the row-major index of each value in the dense one; all other elements are zero.
  std::optional<Array<Offset>> places;
  NumberType type = NumberType::f32;  ///< in the file

  Offset size() const { return *elements(shape); }
};

/// DataError, beginning with `where`, unless the tensor is constant, FLOAT32 or FLOAT16, and fits its buffer.
Constant read_constant(const tflite::Model& model, const tflite::Tensor& tensor, const std::string& where,
                       Budget& budget);
/// The same for integers: INT32 or INT64, dense.
std::vector<std::int64_t> read_integers(const tflite::Model& model, const tflite::Tensor& tensor,
                                        const std::string& where);

/// The shape of a tensor; all lengths must be in 1..2^31-1.
Shape shape_of(const tflite::Tensor& tensor, const std::string& where);
/// Whether the tensor has data in the file.
bool is_constant(const tflite::Model& model, const tflite::Tensor& tensor);
/// DataError for types other than FLOAT32 and FLOAT16.
void require_floats(const tflite::Tensor& tensor, const std::string& where);

/// The constant in dense form.
Constant densified(const Constant& constant, Budget& budget);
/// The constant with its axes permuted: axis i of the result is axis order[i].
Constant transposed(const Constant& constant, const std::vector<Index>& order, Budget& budget);

/// Maps an element to a row and a column: the sum over its axes of the coordinate times these factors.
struct Placement {
  std::array<Offset, 4> row{};
  std::array<Offset, 4> col{};
};
/// The matrix of the non-zeros of a constant with up to four axes. Columns ascend within each row.
CsrMatrix matrix_of(const Constant& constant, Index rows, Index cols, const Placement& placement, Budget& budget);

}  // namespace spdnn::tflite_reader
