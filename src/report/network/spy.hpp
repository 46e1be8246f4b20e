#pragma once

#include "report/document.hpp"
#include "spdnn/csr_matrix.hpp"

namespace spdnn::network_sections {

/// Where the entries of a matrix are, in at most `most` x `most` cells: one for each position where the matrix is no
/// larger. The matrix must have rows and columns. Cost: one pass over the entries, on all cores.
Grid spy(const CsrMatrix& matrix, Index most = 128);

}  // namespace spdnn::network_sections
