#include "prune/quantise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "core/types/narrow_floats.hpp"
#include "model/graph/node_text.hpp"
#include "model/graph/quantised.hpp"
#include "model/rewrites/channels.hpp"
#include "prune/codebook.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

namespace {

constexpr float kLargestWhole = 127;

float nearest_half(float value) {
  const float nearest = float_of_f16(nearest_f16(value));
  if (!std::isfinite(nearest)) throw std::invalid_argument(fmt::format("{} exceeds fp16", value));
  return nearest;
}

CsrMatrix with_values(const CsrMatrix& matrix, std::vector<float> values) {
  return {matrix.rows, matrix.cols, matrix.offsets, matrix.indices, std::move(values)};
}

/// The pattern that takes fewer bytes in a packed file with `value_bits` for each value, and one byte at most for the
/// gap before most entries.
Pattern smaller_pattern(const CsrMatrix& matrix, int value_bits) {
  constexpr std::size_t kGapBits = 8;
  const std::size_t sparse = matrix.entries() * (kGapBits + value_bits) + kGapBits * std::size_t{matrix.rows};
  return std::size_t{matrix.rows} * matrix.cols * value_bits <= sparse ? Pattern::dense : Pattern::csr;
}

TypedMatrix as_halves(const CsrMatrix& weights) {
  std::vector<float> values(weights.entries());
  for (Offset k = 0; k < weights.entries(); ++k) values[k] = nearest_half(weights.entry_value(k));
  return typed_matrix(with_values(weights, std::move(values)), smaller_pattern(weights, 16), DataType::f16);
}

/// The largest |w| of each row / `divisor`, or 1 where that is zero.
std::vector<float> row_scales(const CsrMatrix& weights, float divisor) {
  std::vector<float> scales(weights.rows, 1.0F);
  for (Index row = 0; row < weights.rows; ++row) {
    float largest = 0;
    const Offset end = weights.offsets[std::size_t{row} + 1];
    for (Offset k = weights.offsets[row]; k < end; ++k) largest = std::max(largest, std::abs(weights.entry_value(k)));
    if (const float scale = largest / divisor; scale > 0) scales[row] = scale;
  }
  return scales;
}

/// The integers as a matrix, which scales then multiply.
TypedMatrix as_whole_numbers(const CsrMatrix& weights) {
  std::vector<float> values(weights.entries());
  std::vector<float> scales = row_scales(weights, kLargestWhole);
  for (Index row = 0; row < weights.rows; ++row)
    for (Offset k = weights.offsets[row]; k < weights.offsets[std::size_t{row} + 1]; ++k)
      values[k] = std::clamp(std::nearbyint(weights.entry_value(k) / scales[row]), -kLargestWhole, kLargestWhole);
  TypedMatrix matrix = typed_matrix(with_values(weights, std::move(values)), smaller_pattern(weights, 8), DataType::i8);
  matrix.values.scales = std::move(scales);
  matrix.values.validate(weights.rows);  // the largest weights of fp32 may exceed it after rounding
  return matrix;
}

/// The row of each entry.
std::vector<Index> entry_rows(const CsrMatrix& matrix) {
  std::vector<Index> rows(matrix.entries());
  for (Index row = 0; row < matrix.rows; ++row)
    std::fill(rows.begin() + static_cast<std::ptrdiff_t>(matrix.offsets[row]),
              rows.begin() + static_cast<std::ptrdiff_t>(matrix.offsets[std::size_t{row} + 1]), row);
  return rows;
}

std::size_t count_different(std::vector<float> values) {
  std::sort(values.begin(), values.end());
  return std::unique(values.begin(), values.end()) - values.begin();
}

/// With few different weights the codebook has all of them. Otherwise it stands for the weights divided by the largest
/// of their row. A dense palette has zero too, if the matrix has any.
TypedMatrix as_codes(const CsrMatrix& weights, int bits) {
  const Pattern pattern = smaller_pattern(weights, bits);
  const bool has_zeros = weights.entries() < Offset{weights.rows} * weights.cols;
  const std::size_t size = (std::size_t{1} << bits) - (pattern == Pattern::dense && has_zeros ? 1 : 0);
  std::vector<float> values(weights.entries());
  for (Offset k = 0; k < weights.entries(); ++k) values[k] = weights.entry_value(k);
  std::vector<float> scales;
  if (count_different(values) > size) {
    scales = row_scales(weights, 1);
    const std::vector<Index> rows = entry_rows(weights);
    std::vector<Sample> samples(values.size());
    for (std::size_t k = 0; k < values.size(); ++k) {
      values[k] /= scales[rows[k]];
      samples[k] = {values[k], double{scales[rows[k]]} * scales[rows[k]]};
    }
    const std::vector<float> codebook = codebook_of(std::move(samples), size);
    for (float& value : values) value = codebook[nearest_of(codebook, value)];
  }
  TypedMatrix matrix = with_palette(typed_matrix(with_values(weights, std::move(values)), pattern, DataType::f32));
  matrix.values.scales = std::move(scales);
  return matrix;
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
  if (!quantised_values(model).empty())
    throw DataError(fmt::format(
        "the model's values are quantised already and it cannot be {}; begin with the model in floating point", what));
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
