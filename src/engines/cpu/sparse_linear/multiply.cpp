#include "engines/cpu/sparse_linear/multiply.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/text/amounts.hpp"

namespace spdnn {

namespace {

constexpr Extent kLanes = 16;         ///< rows of the input in a tile
constexpr Index kOutputs = 16;        ///< of a piece of work: a cache line of the result, for each lane
constexpr std::size_t kInFlight = 4;  ///< accumulators, so that no addition waits for the one before
constexpr Offset kLeast = 1U << 16U;  ///< weights
constexpr double kDensest = 0.15;     ///< for kLanes rows and more
constexpr double kDensestAtFew = 0.05;
constexpr Offset kLarge = 1U << 19U;  ///< weights; with zeros, they come from beyond L2
constexpr double kDensestAtOneIfLarge = 0.11;

Offset weights_of(const CsrMatrix& matrix) { return Offset{matrix.rows} * matrix.cols; }

/// The sums of a tile's outputs first, first + 1, ... below last, kLanes of each, in registers of kBytes bytes.
template <std::size_t kBytes>
[[gnu::always_inline]] inline void add_up(const CsrMatrix& matrix, const float* tile, Index first, Index last,
                                          float* sums) {
  typedef float Register __attribute__((vector_size(kBytes), may_alias));  // NOLINT(modernize-use-using)
  constexpr std::size_t kRegisters = kLanes * sizeof(float) / kBytes;
  const Offset* const offsets = matrix.offsets.data();
  const Index* const indices = matrix.indices.data();
  const float* const values = matrix.uniform() ? nullptr : matrix.values.data();
  for (Index row = first; row < last; ++row, sums += kLanes) {
    Register sum[kInFlight][kRegisters] = {};
    const auto add = [&](Offset k, std::size_t to) {
      const float weight = values == nullptr ? matrix.value : values[k];
      const Register* lanes = reinterpret_cast<const Register*>(tile + std::size_t{indices[k]} * kLanes);
      for (std::size_t r = 0; r < kRegisters; ++r) sum[to][r] += weight * lanes[r];
    };
    Offset k = offsets[row];
    for (; k + kInFlight <= offsets[row + 1]; k += kInFlight)
      for (std::size_t i = 0; i < kInFlight; ++i) add(k + i, i);
    for (; k < offsets[row + 1]; ++k) add(k, 0);
    for (std::size_t r = 0; r < kRegisters; ++r)
      reinterpret_cast<Register*>(sums)[r] = (sum[0][r] + sum[1][r]) + (sum[2][r] + sum[3][r]);
  }
}

using AddUp = void (*)(const CsrMatrix& matrix, const float* tile, Index first, Index last, float* sums);

void add_up_portable(const CsrMatrix& matrix, const float* tile, Index first, Index last, float* sums) {
  add_up<16>(matrix, tile, first, last, sums);
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] void add_up_avx2(const CsrMatrix& matrix, const float* tile, Index first, Index last,
                                         float* sums) {
  add_up<32>(matrix, tile, first, last, sums);
}

[[gnu::target("avx512f")]] void add_up_avx512(const CsrMatrix& matrix, const float* tile, Index first, Index last,
                                              float* sums) {
  add_up<64>(matrix, tile, first, last, sums);
}
#endif

AddUp fastest() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") != 0) return add_up_avx512;
  if (__builtin_cpu_supports("avx2") != 0) return add_up_avx2;
#endif
  return add_up_portable;
}

float bias_of(const Linear& linear, Index output) { return linear.bias.empty() ? 0.F : linear.bias[output]; }

/// One row of the input, without a tile.
void multiply_one(const Linear& linear, const float* input, float* output, const Finish& finish) {
  const CsrMatrix& matrix = linear.weights;
#pragma omp parallel for schedule(static)
  for (Index row = 0; row < matrix.rows; ++row) {
    float sum[kInFlight] = {};
    const auto add = [&](Offset k, std::size_t to) { sum[to] += matrix.entry_value(k) * input[matrix.indices[k]]; };
    Offset k = matrix.offsets[row];
    for (; k + kInFlight <= matrix.offsets[row + 1]; k += kInFlight)
      for (std::size_t i = 0; i < kInFlight; ++i) add(k + i, i);
    for (; k < matrix.offsets[row + 1]; ++k) add(k, 0);
    output[row] = (sum[0] + sum[1]) + (sum[2] + sum[3]) + bias_of(linear, row);
    if (finish) finish(output + row, 1);
  }
}

/// Some rows of the input as a tile; lanes without a row are zero.
void transpose(const float* input, Extent rows, Index cols, Index first, Index last, float* tile) {
  for (Index col = first; col < last; ++col) {
    float* const lanes = tile + std::size_t{col} * kLanes;
    for (Extent lane = 0; lane < rows; ++lane) lanes[lane] = input[lane * cols + col];
    std::fill(lanes + rows, lanes + kLanes, 0.F);
  }
}

}  // namespace

double weights_density(const CsrMatrix& weights) {
  return static_cast<double>(weights.entries()) / static_cast<double>(std::max<Offset>(weights_of(weights), 1));
}

double sparse_linear_densest(const CsrMatrix& weights, Extent rows) {
  if (rows == 1 && weights_of(weights) >= kLarge) return kDensestAtOneIfLarge;
  return rows >= kLanes ? kDensest : kDensestAtFew;
}

bool sparse_linear_pays(const CsrMatrix& weights, Extent rows) {
  return weights_of(weights) >= kLeast && weights_density(weights) <= sparse_linear_densest(weights, rows);
}

std::string sparse_linear_text(const CsrMatrix& weights, Extent rows) {
  if (weights_of(weights) < kLeast)
    return fmt::format("dense, as it has {}, and zeros are skipped from {} on",
                       counted(weights_of(weights), "weight", "weights"), kLeast);
  return fmt::format("{}, as {:.2f} % of the weights are not zero, and zeros are skipped up to {:.0f} % for {}",
                     sparse_linear_pays(weights, rows) ? "sparse" : "dense", 100 * weights_density(weights),
                     100 * sparse_linear_densest(weights, rows),
                     counted(static_cast<std::uint64_t>(rows), "row", "rows"));
}

std::size_t sparse_linear_scratch(const CsrMatrix& weights, Extent rows) {
  const Extent tiles = rows == 1 ? 0 : (rows + kLanes - 1) / kLanes;
  return static_cast<std::size_t>(tiles * kLanes) * weights.cols;
}

void multiply_sparse(const Linear& linear, Extent rows, const float* input, float* scratch, float* output,
                     const Finish& finish) {
  if (rows == 1) return multiply_one(linear, input, output, finish);
  static const AddUp add_up_outputs = fastest();
  constexpr Index kInputs = 64;  // of a piece of the transposition
  const CsrMatrix& matrix = linear.weights;
  const Extent tiles = (rows + kLanes - 1) / kLanes;
  const Extent inputs = (Extent{matrix.cols} + kInputs - 1) / kInputs;
  const Extent outputs = (Extent{matrix.rows} + kOutputs - 1) / kOutputs;
  const auto lanes_of = [&](Extent tile) { return std::min(kLanes, rows - tile * kLanes); };
  const auto tile_at = [&](Extent tile) { return scratch + tile * kLanes * matrix.cols; };
#pragma omp parallel
  {
#pragma omp for collapse(2) schedule(static)
    for (Extent tile = 0; tile < tiles; ++tile)
      for (Extent piece = 0; piece < inputs; ++piece) {
        const auto first = static_cast<Index>(piece * kInputs);
        transpose(input + tile * kLanes * matrix.cols, lanes_of(tile), matrix.cols, first,
                  std::min(matrix.cols, first + kInputs), tile_at(tile));
      }
      // Rows of weights differ in length, so that the pieces are handed out as threads become free.
#pragma omp for collapse(2) schedule(dynamic, 8)
    for (Extent tile = 0; tile < tiles; ++tile)
      for (Extent piece = 0; piece < outputs; ++piece) {
        alignas(64) float sums[kOutputs * kLanes];
        const auto first = static_cast<Index>(piece * kOutputs);
        const Index last = std::min(matrix.rows, first + kOutputs);
        add_up_outputs(matrix, tile_at(tile), first, last, sums);
        float* const to = output + tile * kLanes * matrix.rows;
        for (Extent lane = 0; lane < lanes_of(tile); ++lane) {
          float* const results = to + lane * matrix.rows;
          for (Index row = first; row < last; ++row)
            results[row] = sums[(row - first) * kLanes + lane] + bias_of(linear, row);
          if (finish) finish(results + first, last - first);
        }
      }
  }
}

}  // namespace spdnn
