#pragma once

#include "report/document.hpp"
#include "spdnn/csr_matrix.hpp"

namespace spdnn::network_sections {

/// The positions of the entries of a matrix, in at most `most` x `most` cells; smaller matrices get one cell per
/// position. The matrix must have rows and columns. Cost: one pass over the entries, on all cores.
Grid spy(const CsrMatrix& matrix, Index most = 128);

}  // namespace spdnn::network_sections
