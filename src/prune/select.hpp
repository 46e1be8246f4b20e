#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "spdnn/csr_matrix.hpp"

namespace spdnn {

/// Layers whose filters have fewer weights stay dense: depthwise convolutions and first layers of images, of which
/// hardly anything can be left out, and for which sparse kernels gain nothing.
inline constexpr Index kFewWeights = 32;

/// Which weights of a layer may be kept together.
struct Structure {
  enum class Kind {
    free,     ///< any
    uniform,  ///< as many in each row, that is for each output channel
    n_of_m,   ///< at most n of m neighbouring input channels, for each output channel and tap
  };
  Kind kind = Kind::free;
  Index n = 0;  ///< of n_of_m
  Index m = 0;  ///< likewise; 2:4 is n = 2, m = 4
};

/// `free`, `uniform` or `N:M` with 0 < N < M; UsageError otherwise.
Structure parse_structure(std::string_view text);
std::string to_string(const Structure& structure);

/// The score of each entry: |weight|, times the factor of its column if there are factors. Rows are divided into equal
/// groups of channels; `factors` has `cols` numbers for each group, or is empty.
std::vector<float> scores_of(const CsrMatrix& weights, std::span<const float> factors, Index groups);

/// The entries with the highest scores: `keep` of them, or all if there are fewer; of equal ones the first. Structure
/// uniform keeps keep / rows in each row, rounded to nearest, at least one; n_of_m keeps n of each m and ignores
/// `keep`. A column is input x taps + tap.
CsrMatrix kept(const CsrMatrix& weights, std::span<const float> scores, const Structure& structure, Offset keep,
               Index taps);

/// How many entries of each layer are among the `keep` with the highest scores of all layers; of equal ones, earlier
/// layers come first.
std::vector<Offset> shared_out(const std::vector<std::vector<float>>& scores, Offset keep);

}  // namespace spdnn
