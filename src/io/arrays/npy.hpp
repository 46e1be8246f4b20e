#pragma once

#include <filesystem>
#include <optional>

#include "io/arrays/numbers.hpp"
#include "io/files/atomic_file.hpp"
#include "io/files/input_file.hpp"
#include "spdnn/tensor.hpp"

namespace spdnn {

// NumPy's .npy files, which hold one array (NumPy Enhancement Proposal 1): versions 1 to 3, all types of NumberType
// except bf16, either byte order, row-major (C) or column-major (Fortran). Pickled objects, structures, complex numbers
// and text are refused. Nothing is allocated before the shape has been checked against the size of the file.

/// The array of integers or booleans, in row-major order. DataError if the file is invalid or has other types.
IntegerTensor read_npy_integers(const InputFile& file);

/// The first rows of an array, as fp32.
struct FirstRows {
  Tensor tensor;
  Extent available = 0;               ///< rows (elements of axis 0) in the file; 0 if the array is a single number
  NumberType type = NumberType::f32;  ///< in the file
};
/// Reads the first `most` rows; all rows of a column-major array, whose rows are spread over the file. Numbers may be
/// infinite. DataError if the file is invalid.
FirstRows read_npy_rows(const InputFile& file, std::optional<Index> most = {});

/// Writes version 1, little-endian, row-major: float32 or int64. The file appears whole or not at all.
void write_npy(const std::filesystem::path& path, const Tensor& tensor);
void write_npy(const std::filesystem::path& path, const IntegerTensor& tensor);
/// The same into a file that the caller commits.
void write_npy(AtomicFile& file, const Tensor& tensor);
void write_npy(AtomicFile& file, const IntegerTensor& tensor);

}  // namespace spdnn
