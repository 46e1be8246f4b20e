#include "prune/quantise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <set>
#include <stdexcept>
#include <vector>

#include "model/graph/node_text.hpp"
#include "model/rewrites/channels.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

namespace {

constexpr float kLargestHalf = 65504;
constexpr float kLargestWhole = 127;
constexpr int kMostRounds = 100;

float nearest_half(float value) {
  if (std::abs(value) < 0x1p-14F) return std::nearbyint(value * 0x1p24F) * 0x1p-24F;  // subnormal in binary16
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t half = 0xfffU + (bits >> 13U & 1U);
  const auto nearest = std::bit_cast<float>((bits + half) & ~0x1fffU);
  if (std::abs(nearest) > kLargestHalf) throw std::invalid_argument(fmt::format("{} exceeds fp16", value));
  return nearest;
}

CsrMatrix with_values(const CsrMatrix& matrix, std::vector<float> values) {
  return {matrix.rows, matrix.cols, matrix.offsets, matrix.indices, std::move(values)};
}

/// The pattern that takes fewer bytes in a packed file with `value_bits` for each value.
Pattern smaller_pattern(const CsrMatrix& matrix, int value_bits) {
  const std::size_t index_bits = matrix.cols <= 65536 ? 16 : 32;
  const std::size_t sparse = matrix.entries() * (index_bits + value_bits) + 64 * std::size_t{matrix.rows};
  return std::size_t{matrix.rows} * matrix.cols * value_bits <= sparse ? Pattern::dense : Pattern::csr;
}

TypedMatrix as_halves(const CsrMatrix& weights) {
  std::vector<float> values(weights.entries());
  for (Offset k = 0; k < weights.entries(); ++k) values[k] = nearest_half(weights.entry_value(k));
  return typed_matrix(with_values(weights, std::move(values)), smaller_pattern(weights, 16), DataType::f16);
}

/// The whole numbers as a matrix, which scales then multiply.
TypedMatrix as_whole_numbers(const CsrMatrix& weights) {
  std::vector<float> values(weights.entries());
  std::vector<float> scales(weights.rows, 1.0F);
  for (Index row = 0; row < weights.rows; ++row) {
    float largest = 0;
    const Offset end = weights.offsets[std::size_t{row} + 1];
    for (Offset k = weights.offsets[row]; k < end; ++k) largest = std::max(largest, std::abs(weights.entry_value(k)));
    if (const float scale = largest / kLargestWhole; scale > 0) scales[row] = scale;
    for (Offset k = weights.offsets[row]; k < end; ++k)
      values[k] = std::clamp(std::nearbyint(weights.entry_value(k) / scales[row]), -kLargestWhole, kLargestWhole);
  }
  TypedMatrix matrix = typed_matrix(with_values(weights, std::move(values)), smaller_pattern(weights, 8), DataType::i8);
  matrix.values.scales = std::move(scales);
  return matrix;
}

std::size_t nearest_of(const std::vector<float>& codebook, float value) {
  const std::size_t above = std::lower_bound(codebook.begin(), codebook.end(), value) - codebook.begin();
  if (above == 0) return 0;
  if (above == codebook.size()) return above - 1;
  return value - codebook[above - 1] <= codebook[above] - value ? above - 1 : above;
}

/// Ascending.
std::vector<float> codebook_of(const std::vector<float>& values, std::size_t size) {
  const std::set<float> different(values.begin(), values.end());
  if (different.size() <= size) return {different.begin(), different.end()};
  const float least = *different.begin();
  const float step = (*different.rbegin() - least) / static_cast<float>(size - 1);
  std::vector<float> codebook(size);
  for (std::size_t i = 0; i < size; ++i) codebook[i] = least + step * static_cast<float>(i);
  for (int round = 0; round < kMostRounds; ++round) {
    std::vector<double> sums(size);
    std::vector<std::size_t> counts(size);
    for (const float value : values) {
      const std::size_t code = nearest_of(codebook, value);
      sums[code] += value;
      ++counts[code];
    }
    std::vector<float> next = codebook;
    for (std::size_t i = 0; i < size; ++i)
      if (counts[i] > 0) next[i] = static_cast<float>(sums[i] / static_cast<double>(counts[i]));
    std::sort(next.begin(), next.end());
    if (next == codebook) break;
    codebook = std::move(next);
  }
  return codebook;
}

/// A dense palette has zeros too, if the matrix has any.
TypedMatrix as_codes(const CsrMatrix& weights, int bits) {
  const Pattern pattern = smaller_pattern(weights, bits);
  const bool has_zeros = weights.entries() < Offset{weights.rows} * weights.cols;
  const std::size_t size = (std::size_t{1} << bits) - (pattern == Pattern::dense && has_zeros ? 1 : 0);
  std::vector<float> values(weights.entries());
  for (Offset k = 0; k < weights.entries(); ++k) values[k] = weights.entry_value(k);
  if (!values.empty()) {
    const std::vector<float> codebook = codebook_of(values, size);
    for (float& value : values) value = codebook[nearest_of(codebook, value)];
  }
  return with_palette(typed_matrix(with_values(weights, std::move(values)), pattern, DataType::f32));
}

/// The sums of (a - b)^2 and of a^2; b has no entry where a has none.
void add_change(const CsrMatrix& a, const CsrMatrix& b, double& change, double& all) {
  for (Index row = 0; row < a.rows; ++row) {
    const std::vector<float> given = dense_rows(a, row, row + 1);
    const std::vector<float> found = dense_rows(b, row, row + 1);
    for (std::size_t i = 0; i < given.size(); ++i) {
      change += (double{given[i]} - found[i]) * (double{given[i]} - found[i]);
      all += double{given[i]} * given[i];
    }
  }
}

}  // namespace

Quantisation parse_quantisation(std::string_view text) {
  using Kind = Quantisation::Kind;
  if (text == "fp16") return {Kind::fp16, 16};
  if (text == "int8") return {Kind::int8, 8};
  for (int bits = 4; bits <= 8; ++bits)
    if (text == fmt::format("codebook{}", bits)) return {Kind::codebook, bits};
  throw UsageError("to", fmt::format("'{}' is neither 2:4, fp16, int8 nor codebook4 to codebook8", text));
}

TypedMatrix rounded(const CsrMatrix& weights, const Quantisation& quantisation) {
  if (quantisation.kind == Quantisation::Kind::fp16) return as_halves(weights);
  if (quantisation.kind == Quantisation::Kind::int8) return as_whole_numbers(weights);
  return as_codes(weights, quantisation.bits);
}

QuantisationLoss quantise(Model& model, const Quantisation& quantisation) {
  require_plain_weights(model, "rounded again");
  QuantisationLoss loss;
  double change = 0;
  double all = 0;
  for (std::size_t n = 0; n < model.nodes.size(); ++n) {
    if (weights_or_null(model.nodes[n].operation) == nullptr) continue;
    Weights& weights = *sums_of(model.nodes[n].operation).weights;
    const CsrMatrix given = weights.csr();
    loss.bytes_before += weights.bytes();
    try {
      weights = Weights(rounded(given, quantisation));
    } catch (const std::invalid_argument& error) {
      throw DataError(fmt::format("{}: {}", node_text(model, n), error.what()));
    }
    loss.bytes_after += weights.bytes();
    add_change(given, weights, change, all);
    ++loss.nodes;
  }
  loss.change = all == 0 ? 0 : std::sqrt(change / all);
  return loss;
}

void require_plain_weights(const Model& model, std::string_view what) {
  for (std::size_t n = 0; n < model.nodes.size(); ++n) {
    const Weights* const weights = weights_or_null(model.nodes[n].operation);
    if (weights == nullptr || weights->typed() == nullptr) continue;
    const Values& values = weights->typed()->values;
    if (values.code_bits != 0 || is_whole(values.type))
      throw DataError(
          fmt::format("{}: its weights are quantised already ({}) and cannot be {}; begin with the model in "
                      "floating point",
                      node_text(model, n), weights->form(), what));
  }
}

}  // namespace spdnn
