#pragma once

#include <string>
#include <vector>

#include "io/models/budget.hpp"
#include "io/models/tflite/schema.hpp"
#include "spdnn/tensor.hpp"
#include "spdnn/types.hpp"

namespace spdnn::tflite_reader {

/// The row-major index in the dense tensor of each stored number, in storage order. Indices are distinct. DataError,
/// beginning with `where`, unless the description fits the shape and `count` numbers.
std::vector<Offset> places_of(const tflite::SparsityParameters& sparsity, const Shape& shape, std::size_t count,
                              const std::string& where, Budget& budget);

}  // namespace spdnn::tflite_reader
