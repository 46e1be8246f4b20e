#pragma once

#include <string>

#include "io/import/numbers.hpp"
#include "io/input_file.hpp"
#include "spdnn/tensor.hpp"

namespace spdnn {

/// What an .npy file says about its array.
struct NpyHeader {
  StoredNumbers numbers;
  bool by_columns = false;  ///< Fortran's order: the first axis changes fastest
  Shape shape;
};

/// Reads and checks the header, the size of the file included: the array lies within the file and ends with it.
/// DataError for anything else.
NpyHeader read_npy_header(const InputFile& file);
/// All bytes in front of an array of this shape, stored by rows; `type` is NumPy's name of its type, such as `<f4`.
std::string npy_header(const std::string& type, const Shape& shape);

}  // namespace spdnn
