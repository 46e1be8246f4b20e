#pragma once

#include <string>

#include "io/arrays/numbers.hpp"
#include "io/files/input_file.hpp"
#include "spdnn/tensor.hpp"

namespace spdnn {

/// The header of an .npy file.
struct NpyHeader {
  StoredNumbers numbers;
  bool by_columns = false;  ///< Fortran order: the first axis varies fastest
  Shape shape;
};

/// Reads and checks the header against the size of the file: the array must end exactly with the file. DataError if it
/// is invalid.
NpyHeader read_npy_header(const InputFile& file);
/// All bytes before a row-major array of this shape; `type` is NumPy's type name, such as `<f4`.
std::string npy_header(const std::string& type, const Shape& shape);

}  // namespace spdnn
