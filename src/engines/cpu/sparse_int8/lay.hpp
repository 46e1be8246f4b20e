#pragma once

#include <cstddef>

#include "engines/cpu/sparse_int8/kernels.hpp"
#include "model/graph/quantised.hpp"
#include "model/operations/geometry.hpp"

// Passes over the images before and after the loops, on that many threads of OpenMP.

namespace spdnn::sparse_int8 {

/// Groups of channels that lie together.
inline Extent groups_of(Extent channels, std::int32_t together) { return (channels + together - 1) / together; }
/// To a cache line of numbers.
inline std::size_t rounded_up(std::size_t count) { return (count + 15) / 16 * 16; }
/// Numbers of 4 bytes of an input whose channels lie together, which `shape` counts.
std::size_t laid_size(const ConvolutionShape& shape);

/// Bytes in memory; their zero point is taken off.
struct Numbers {
  const std::byte* at;
  ByteForm form;

  std::int32_t operator[](Extent i) const {
    const auto byte = static_cast<std::uint8_t>(at[i]);
    return (form.is_signed ? std::int32_t{static_cast<std::int8_t>(byte)} : std::int32_t{byte}) - form.zero;
  }
};
/// Row-major images; channels of `groups` of a convolution are not mixed.
void lay_images(const Kernels& kernels, const Numbers& from, const ImageExtents& of, Extent groups, int threads,
                float* to);
/// Rows of a matrix, each of which becomes a pixel.
void lay_rows(std::int32_t together, const Numbers& from, Extent rows, Extent columns, int threads, float* to);
/// A rows x columns matrix as a columns x rows one.
void transpose(const float* from, Extent rows, Extent columns, int threads, float* to);

}  // namespace spdnn::sparse_int8
