#pragma once

#include "io/arrays/numbers.hpp"
#include "spdnn/weights.hpp"

namespace spdnn {

/// The weights that a file stores as numbers of a type and a reader has widened: kept in that type, dense or as CSR,
/// whichever takes fewer bytes; as fp32 if DataType has no such type. The values are those that the type has.
Weights weights_of_type(CsrMatrix matrix, NumberType type);

}  // namespace spdnn
