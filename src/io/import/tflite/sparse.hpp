#pragma once

#include <string>
#include <vector>

#include "io/import/budget.hpp"
#include "io/import/tflite/schema.hpp"
#include "spdnn/tensor.hpp"
#include "spdnn/types.hpp"

namespace spdnn::tflite_reader {

/// Where each stored number of a sparse tensor lies in the dense tensor, row by row, in the order in which they are
/// stored. No two lie at the same place. DataError, beginning with `where`, unless the description fits the shape and
/// `count` numbers.
std::vector<Offset> places_of(const tflite::SparsityParameters& sparsity, const Shape& shape, std::size_t count,
                              const std::string& where, Budget& budget);

}  // namespace spdnn::tflite_reader
