#pragma once

#include "spdnn/csr_matrix.hpp"

namespace spdnn {

/// For each tap an order of the input channels in which most groups of four neighbours have at most two non-zeros in a
/// row: TypedMatrix::order of `weights`, whose columns are input x taps + tap. A greedy choice, improved by exchanges
/// as J. Pool and C. Yu, "Channel permutations for N:M sparsity", 2021, do for what pruning keeps; here all is kept,
/// and what does not fit is counted. The same for the same weights.
Array<Index> channel_order(const CsrMatrix& weights, Index taps);

}  // namespace spdnn
