#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "spdnn/model.hpp"

// Linear nodes that skip zero weights: y = W x + b for CSR weights W and a matrix of rows x, on OpenMP's threads, in
// fp32.
//
// Mapping: rows of the input are taken 16 at a time, as the lanes of one AVX-512 register, two of AVX2 or four of SSE.
// Such a tile is first transposed, input by input, so that the factors of a weight are adjacent:
//
//             lane 0    lane 1   ...   lane 15
//   input 0 | x(0,0)  | x(1,0) | ... | x(15,0) |   64 bytes, one cache line
//   input 1 | x(0,1)  | x(1,1) | ... | x(15,1) |
//   ...
//
// A piece of work is 16 outputs of one tile. Four terms of a sum are in flight at a time, in four accumulators. One row
// alone is not transposed: each weight then loads its own input.
//
// Cost: 8 bytes of weight and index and one line of the tile per non-zero weight and 16 rows. The bound is the cache
// that the tile lies in: L1 up to some 500 inputs, L2 up to 10000.

namespace spdnn {

/// Whether leaving the zeros out is faster than multiplying them for that many rows: for 16 and more, up to 15 % of the
/// weights not zero; for fewer, up to 5 %, or 11 % for one row and 524288 weights and more, which are read but once; of
/// 65536 weights and more, as in smaller matrices there is little to gain.
/// results/cpu-2core/sparse_linear.md has the times that the rule was made from; two threads gain less than one, and so
/// it ends below the 20 % at which one thread still gains.
bool sparse_linear_pays(const CsrMatrix& weights, Extent rows);

/// Which kernel the rule above chooses, and why, for people.
std::string sparse_linear_text(const CsrMatrix& weights, Extent rows);

/// Numbers of working memory that multiply_sparse() takes.
std::size_t sparse_linear_scratch(const CsrMatrix& weights, Extent rows);

/// The epilogue of the given number of adjacent results, before they are stored.
using Finish = std::function<void(float* results, Extent count)>;

/// `input` is rows x weights.cols, `output` rows x weights.rows, `scratch` as above, on a bound of 64 bytes.
void multiply_sparse(const Linear& linear, Extent rows, const float* input, float* scratch, float* output,
                     const Finish& finish = {});

/// For predictions: the share of weights that are not zero, and the largest at which leaving the zeros out is not
/// slower.
double weights_density(const CsrMatrix& weights);
double sparse_linear_densest(const CsrMatrix& weights, Extent rows);

}  // namespace spdnn
