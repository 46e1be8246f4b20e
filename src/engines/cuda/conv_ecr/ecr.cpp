#include "engines/cuda/conv_ecr/ecr.hpp"

#include <algorithm>

namespace spdnn::cuda {

namespace {

/// Places along an axis of the input that a tile reads.
Index places_read(const DirectShape& shape, std::size_t axis, Index pixels) {
  return (pixels - 1) * shape.stride[axis] + (shape.kernel[axis] - 1) * shape.dilation[axis] + 1;
}

}  // namespace

std::optional<EcrTiling> ecr_tiling(const DirectShape& shape, bool pooled) {
  if (pooled && (shape.out[0] < 2 || shape.out[1] < 2)) return std::nullopt;
  const auto fits = [&](Index rows, Index columns) {
    return places_read(shape, 0, rows) <= kBitmapSide && places_read(shape, 1, columns) <= kBitmapSide;
  };
  // Tiles that hardly any layer needs have no instances for few filters.
  if (shape.stride[0] == 1 && shape.stride[1] == 1 && fits(2, 4))
    return EcrTiling{2, 4, shape.filters <= 64 ? 2U : shape.filters <= 128 ? 4U : 8U, pooled};
  if (fits(2, 2)) return EcrTiling{2, 2, 8, pooled};
  if (fits(1, 1) && !pooled) return EcrTiling{1, 1, 8, pooled};
  return std::nullopt;
}

std::size_t ecr_warps(const DirectShape& shape, const EcrTiling& tiling, Index images) {
  const std::size_t down = (shape.out[0] + tiling.rows - 1) / tiling.rows;
  const std::size_t across = (shape.out[1] + tiling.columns - 1) / tiling.columns;
  return down * across * images * (tiling.filters_of(shape.filters) / (std::size_t{32} * tiling.filters));
}

std::size_t ecr_shared_bytes(const DirectShape& shape, const EcrTiling& tiling) {
  const std::size_t pixels = std::size_t{places_read(shape, 0, tiling.rows)} * kBitmapSide;
  return std::size_t{kEcrWarps} * kEcrChannels * (sizeof(std::uint64_t) + pixels * sizeof(float));
}

std::size_t EcrWeights::bias_at(const DirectShape& shape, const EcrTiling& tiling) {
  return sizeof(float) * shape.channels * shape.kernel[0] * shape.kernel[1] * tiling.filters_of(shape.filters);
}

std::size_t EcrWeights::bytes(const DirectShape& shape, const EcrTiling& tiling) {
  return bias_at(shape, tiling) + sizeof(float) * shape.filters;
}

void EcrWeights::pack(const DirectShape& shape, const EcrTiling& tiling, const CsrMatrix& weights, const float* bias,
                      std::byte* to) {
  std::fill_n(reinterpret_cast<float*>(to), bytes(shape, tiling) / sizeof(float), 0.0F);
  auto* const of_taps = reinterpret_cast<float*>(to);
  for (Index filter = 0; filter < shape.filters; ++filter)
    for (Offset at = weights.offsets[filter]; at < weights.offsets[filter + 1]; ++at)
      of_taps[weights.indices[at] * tiling.filters_of(shape.filters) + filter] = weights.entry_value(at);
  if (bias != nullptr) std::copy_n(bias, shape.filters, reinterpret_cast<float*>(to + bias_at(shape, tiling)));
}

}  // namespace spdnn::cuda
