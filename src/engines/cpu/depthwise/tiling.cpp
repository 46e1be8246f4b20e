#include "engines/cpu/depthwise/tiling.hpp"

#include <algorithm>

namespace spdnn::depthwise {

namespace {

Extent divided(Extent a, Extent b) { return (a + b - 1) / b; }
Extent rounded(Extent a, Extent to) { return divided(a, to) * to; }

/// Half of the smallest L1 in use, so that results lie there as well until the functions that are fused have run.
constexpr Extent kTileNumbers = 16384 / sizeof(float);
/// Fewer rows than that are not computed together (kernels_impl.hpp).
constexpr Extent kLeastRows = 4;

/// AddUp::square.
Extent square_of(const Window& window) {
  const bool is = window.kernel[0] == window.kernel[1] && window.stride[0] == 1 && window.dilation[0] == 1;
  return is ? window.kernel[0] : 0;
}

}  // namespace

Tiling::Tiling(const ConvolutionShape& of, const Kernels& kernels, int threads)
    : shape(of), square(square_of(of.window)), lanes_(kernels.lanes) {
  const Window& window = shape.window;
  const Extent stride = window.stride[1];
  const Extent reach = (Extent{window.kernel[1]} - 1) * window.dilation[1];
  const Extent left = window.pad_begin[1];
  columns = std::clamp<Extent>((shape.out.width - 1) * stride + reach + 1 - left, 0, shape.in.width);
  // Whole registers are read and written.
  const Extent read = std::max(shape.out.width, lanes_) + reach / stride;
  const Extent written = divided(left, stride) + rounded(divided(columns, stride), lanes_);
  phase_columns = rounded(std::max(read, written), lanes_);
  pitch = stride * phase_columns;
  const auto place = [&](Extent column) { return column % stride * phase_columns + column / stride; };
  for (Extent column = 0; column < stride; ++column) column_places.push_back(place(left + column));
  for (Extent row = 0; row < Extent{window.kernel[0]}; ++row)
    for (Extent column = 0; column < Extent{window.kernel[1]}; ++column)
      tap_places.push_back(row * window.dilation[0] * pitch + place(column * window.dilation[1]));

  const Extent height = shape.out.height;
  const Extent planes = shape.out.images * shape.groups;
  Extent tiles = planes < threads ? divided(threads, planes) : 1;
  const auto fit = [&] { return input_rows(divided(height, tiles)) * pitch <= kTileNumbers; };
  while (!fit() && divided(height, tiles + 1) >= kLeastRows) ++tiles;
  rows = divided(height, std::min(tiles, height));
}

// Measured on a Zen 3, where a register that is read across a bound of 32 bytes takes two reads: about a cycle for each
// multiply-add, and what the rest takes.
double Tiling::cycles(int threads) const {
  const auto number = [](Extent count) { return static_cast<double>(count); };
  const double vectors = number(divided(shape.out.width, lanes_));
  const Extent stride = shape.window.stride[1];
  const double per_register = stride == 1 ? 1.4 : stride == 2 ? 2 : 4 * number(lanes_);
  const double copied_row = 2 + per_register * number(divided(columns, lanes_));
  const double sum = 1.9 + 0.92 * number(shape.taps());
  const double filter = 20 + 2 * number(shape.taps()) + number(rows) * vectors * sum;
  const double tile = 37 + number(input_rows(rows)) * copied_row + number(shape.filters()) * filter;
  return tile * number(divided(tiles(), threads));
}

}  // namespace spdnn::depthwise
