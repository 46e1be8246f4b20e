#pragma once

#include <cstdint>

#include "spdnn/csr_matrix.hpp"

namespace spdnn {

/// How the non-zeros of a layer spread over its rows, which are its output channels.
enum class RowLaw {
  uniform,  ///< every row has the same number
  skewed,   ///< as in networks that were pruned by magnitude: see pruned_matrix.cpp
};

struct PrunedMatrix {
  Index rows = 0;
  Index cols = 0;
  double sparsity = 0;  ///< the share of zeros: 0 to below 1
  RowLaw law = RowLaw::skewed;
  std::uint64_t seed = 1;
  std::uint64_t layer = 0;  ///< with the seed, names the random numbers
};

/// A matrix of random weights, the same on every machine. Of rows x cols weights, the rounded share that is not sparse
/// is not zero, but one at least; with RowLaw::uniform the share of each row is rounded. Sums over inputs of mean
/// square 1 have a mean square of 2 (He et al. 2015, for the weights that are left), so that what is left after a ReLU
/// has 1 again.
CsrMatrix make_pruned_matrix(const PrunedMatrix& wanted);

}  // namespace spdnn
