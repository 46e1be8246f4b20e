#include "model/graph/whole_weights.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <span>
#include <utility>

namespace spdnn {

namespace {

constexpr std::int32_t kMost = 255;

/// Products of numbers of 9 bits with a sign whose sum is one of 32 bits.
constexpr Offset kMostTerms = (std::uint64_t{1} << 31U) / (std::uint64_t{kMost} * kMost) - 1;

/// The numbers of which a row's values are `scale` times as many; false if some are not.
bool divide(std::span<const float> values, float scale, std::int32_t* numbers) {
  return std::all_of(values.begin(), values.end(), [&](float value) {
    const float number = std::nearbyint(value / scale);
    *numbers++ = static_cast<std::int32_t>(std::clamp(number, -1.F * kMost, 1.F * kMost));
    return std::abs(number) <= kMost && scale * number == value;
  });
}

/// The scale of a row, whose numbers are written; 0 if it has none.
float scale_of_row(std::span<const float> values, std::int32_t* numbers) {
  float largest = 0;
  for (const float value : values) largest = std::max(largest, std::abs(value));
  if (values.empty()) return 1;
  const auto scale_at = [&](std::int32_t most) -> float {
    // The quotient may be one unit in the last place off the scale whose multiple was rounded to `largest`.
    const float quotient = largest / static_cast<float>(most);
    for (const float scale : {quotient, std::nextafter(quotient, 0.F), std::nextafter(quotient, largest)})
      if (scale >= std::numeric_limits<float>::min() && divide(values, scale, numbers)) return scale;
    return 0;
  };
  if (const float scale = scale_at(127); scale > 0) return scale;  // NOLINT: of int8
  for (std::int32_t most = 1; most <= kMost; ++most)
    if (const float scale = scale_at(most); scale > 0) return scale;
  return 0;
}

}  // namespace

std::optional<WholeWeights> whole_weights(const CsrMatrix& weights) {
  WholeWeights found;
  found.numbers.resize(weights.entries());
  std::vector<float> values;
  for (Index row = 0; row < weights.rows; ++row) {
    values.clear();
    for (Offset k = weights.offsets[row]; k < weights.offsets[row + 1]; ++k) values.push_back(weights.entry_value(k));
    std::int32_t* const numbers = found.numbers.data() + weights.offsets[row];
    const float scale = scale_of_row(values, numbers);
    if (!(scale > 0)) return std::nullopt;
    found.scales.push_back(scale);
    found.in_bytes = found.in_bytes && std::all_of(numbers, numbers + values.size(),
                                                   [](std::int32_t number) { return number >= -128 && number <= 127; });
  }
  return found;
}

std::shared_ptr<const WholeWeights> KnownWholeWeights::of(const CsrMatrix& weights) {
  const auto [place, is_new] = known_.try_emplace(&weights);
  if (is_new)
    if (auto found = whole_weights(weights)) place->second = std::make_shared<const WholeWeights>(std::move(*found));
  return place->second;
}

std::shared_ptr<const WholeWeights> whole_weights(KnownWholeWeights* known, const CsrMatrix& weights) {
  return known != nullptr ? known->of(weights) : KnownWholeWeights().of(weights);
}

std::string why_not_exact(const CsrMatrix& weights) {
  for (Index row = 0; row < weights.rows; ++row)
    if (weights.offsets[row + 1] - weights.offsets[row] > kMostTerms)
      return fmt::format("a sum of more than {} products may exceed 32 bits", kMostTerms);
  return {};
}

bool pairs_fit(const CsrMatrix& weights, const WholeWeights& whole) {
  constexpr std::int32_t kMostOfTwo = 32767 / 255;
  for (Index row = 0; row < weights.rows; ++row) {
    std::int32_t largest = 0;
    std::int32_t second = 0;
    for (Offset k = weights.offsets[row]; k < weights.offsets[row + 1]; ++k) {
      const std::int32_t number = std::abs(whole.numbers[k]);
      second = std::max(second, std::min(largest, number));
      largest = std::max(largest, number);
    }
    if (largest + second > kMostOfTwo) return false;
  }
  return true;
}

bool scale_sums(std::vector<float>& scales, float of_input) {
  for (float& scale : scales) scale *= of_input;
  return std::all_of(scales.begin(), scales.end(), [](float scale) { return std::isnormal(scale); });
}

}  // namespace spdnn
