#include "engines/cpu/sparse_int8/lay.hpp"

#include <omp.h>

#include <algorithm>
#include <cstring>

namespace spdnn::sparse_int8 {

std::size_t laid_size(const ConvolutionShape& shape) {
  return rounded_up(static_cast<std::size_t>(shape.in.images * shape.in.channels * shape.in.pixels()));
}

void lay_images(const Kernels& kernels, const Numbers& from, const ImageExtents& of, Extent groups, int threads,
                float* to) {
  const Extent channels = of.channels / groups;
  const Extent together = groups_of(channels, kernels.together);
#pragma omp parallel for num_threads(threads) schedule(static) if (omp_get_max_threads() > 1)
  for (Extent number = 0; number < of.images * groups * together; ++number) {
    const Extent first = number % together * kernels.together;
    const Extent channel = number / together * channels + first;
    kernels.lay_together({.from = from.at + channel * of.pixels(),
                          .is_signed = from.form.is_signed,
                          .zero = from.form.zero,
                          .from_stride = of.pixels(),
                          .channels = static_cast<std::int32_t>(std::min<Extent>(channels - first, kernels.together)),
                          .pixels = of.pixels(),
                          .to = reinterpret_cast<std::int32_t*>(to) + number * of.pixels()});
  }
}

void lay_rows(std::int32_t together, const Numbers& from, Extent rows, Extent columns, int threads, float* to) {
  const std::int32_t bits = 32 / together;
  const std::uint32_t mask = (1U << static_cast<unsigned>(bits)) - 1;
#pragma omp parallel for num_threads(threads) schedule(static) if (omp_get_max_threads() > 1)
  for (Extent group = 0; group < groups_of(columns, together); ++group) {
    const Extent first = group * together;
    const Extent count = std::min<Extent>(columns - first, together);
    for (Extent row = 0; row < rows; ++row) {
      std::uint32_t laid = 0;
      for (Extent i = 0; i < count; ++i)
        laid |= (static_cast<std::uint32_t>(from[row * columns + first + i]) & mask) << (i * bits);
      std::memcpy(to + group * rows + row, &laid, sizeof laid);
    }
  }
}

void transpose(const float* from, Extent rows, Extent columns, int threads, float* to) {
  constexpr Extent kTogether = 16;  // a cache line
#pragma omp parallel for num_threads(threads) schedule(static) if (omp_get_max_threads() > 1)
  for (Extent begin = 0; begin < rows; begin += kTogether)
    for (Extent column = 0; column < columns; ++column)
      for (Extent row = begin; row < std::min(begin + kTogether, rows); ++row)
        to[column * rows + row] = from[row * columns + column];
}

}  // namespace spdnn::sparse_int8
