#pragma once

#include <cstddef>
#include <string>

#include "spdnn/model.hpp"

// Linear nodes whose zero weights are left out: y = W x + b for CSR weights W and a matrix of rows x, on OpenMP's
// threads, in fp32. Knows nothing of oneDNN.
//
// Mapping: rows of the input are taken 16 at a time, as the lanes of one AVX-512 register, two of AVX2 or four of SSE.
// Such a tile is first transposed, input by input, so that what a weight is multiplied with lies side by side:
//
//             lane 0    lane 1   ...   lane 15
//   input 0 | x(0,0)  | x(1,0) | ... | x(15,0) |   64 bytes, one cache line
//   input 1 | x(0,1)  | x(1,1) | ... | x(15,1) |
//   ...
//
// A piece of work is 16 outputs of one tile. Four terms of a sum are in flight at a time, in four accumulators. One row
// alone is not transposed: each weight then fetches its input by itself.
//
// Cost: 8 bytes of weight and index and one line of the tile per non-zero weight and 16 rows. The bound is the cache
// that the tile lies in: L1 up to some 500 inputs, L2 up to 10000.

namespace spdnn {

/// Whether leaving the zeros out is faster than multiplying them for that many rows: for 16 and more, up to 15 % of the
/// weights not zero; for fewer, up to 5 %; of 65536 weights and more, as in smaller matrices there is little to gain.
///
/// Times of dense by oneDNN 2.6 over times of this kernel, one thread of an AMD EPYC (family 26, AVX-512), 2026-11-22,
/// with other work on the machine:
///
///   outputs x inputs   rows    1 %   5 %   12.5 %   20 %   30 %   50 % not zero
///   84 x 120              1    1.8   1.3      0.9    0.7    0.5    0.3
///                        32    1.3   1.2      1.0    0.9    0.8    0.6
///                       256    1.4   1.3      1.1    0.9    0.8    0.6
///   512 x 512             1    5.6   1.7      0.8    0.5    0.3    0.2
///                         8    3.3   2.0      1.2    0.8    0.6    0.4
///                        32    4.9   3.2      2.0    1.5    1.1    0.6
///                       256    5.0   3.2      2.0    1.4    1.0    0.6
///   256 x 2304            1    9.7   2.3      0.9    0.6    0.4    0.3
///                         8    4.1   2.3      1.1    0.8    0.5    0.3
///                        32    7.2   3.9      2.0    1.4    1.0    0.5
///                       256    6.6   3.7      1.9    1.3    0.9    0.5
///   4096 x 4096           1     23   4.9      2.0    1.2    0.7    0.4
///                         8     25   6.3      1.9    1.1    0.6    0.4
///                        32     25   7.5      2.6    1.3    0.8    0.5
///                       256     21   5.9      2.1    0.8    0.5    0.3
///
/// Two threads gain less, and so the rule ends below the 20 % at which one thread still gains (two processors of the
/// same machine, 32 rows, 2026-11-22):
///
///   outputs x inputs    5 %   10 %   12.5 %   15 %   20 % not zero
///   512 x 512           1.5    1.3      1.2    1.1    1.0
///   256 x 2304          1.4    1.2      1.1    1.1    0.9
///   1024 x 1024         2.5    1.8      1.6    1.5    1.2
///   2048 x 2048         3.9    2.5      2.1    1.8    1.4
bool sparse_linear_pays(const CsrMatrix& weights, Extent rows);

/// Which kernel the rule above chooses, and why, for people.
std::string sparse_linear_text(const CsrMatrix& weights, Extent rows);

/// Numbers of working memory that multiply_sparse() takes.
std::size_t sparse_linear_scratch(const CsrMatrix& weights, Extent rows);

/// `input` is rows x weights.cols, `output` rows x weights.rows, `scratch` as above, on a bound of 64 bytes.
void multiply_sparse(const Linear& linear, Extent rows, const float* input, float* scratch, float* output);

}  // namespace spdnn
