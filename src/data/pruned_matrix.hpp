#pragma once

#include <cstdint>

#include "spdnn/csr_matrix.hpp"

namespace spdnn {

/// The distribution of a layer's non-zeros over its rows, which are its output channels.
enum class RowLaw {
  uniform,  ///< every row has the same number
  skewed,   ///< as in networks pruned by magnitude: see pruned_matrix.cpp
};

struct PrunedMatrix {
  Index rows = 0;
  Index cols = 0;
  double sparsity = 0;  ///< the share of zeros: 0 to below 1
  RowLaw law = RowLaw::skewed;
  std::uint64_t seed = 1;
  std::uint64_t layer = 0;  ///< together with the seed, selects the random numbers
};

/// A matrix of random weights, the same on every machine. The number of non-zeros is (1 - sparsity) x rows x cols,
/// rounded, but at least one; with RowLaw::uniform the number per row is rounded. Sums over inputs of mean square 1
/// have a mean square of 2 (He et al. 2015, applied to the remaining weights), so that a ReLU restores a mean square of
/// 1.
CsrMatrix make_pruned_matrix(const PrunedMatrix& wanted);

}  // namespace spdnn
