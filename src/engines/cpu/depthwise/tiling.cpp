#include "engines/cpu/depthwise/tiling.hpp"

#include <algorithm>
#include <utility>

#include "engines/cpu/lanes/runnable.hpp"

namespace spdnn::depthwise {

namespace {

Extent divided(Extent a, Extent b) { return (a + b - 1) / b; }

/// Three quarters of the smallest L1 in use: the rest is for results, weights and the image.
constexpr Extent kTileNumbers = 24576 / sizeof(float);

/// AddUp::square.
Extent square_of(const Window& window) {
  const auto both = [](const std::array<Index, 2>& axes, Index value) { return axes[0] == value && axes[1] == value; };
  const bool is = both(window.dilation, 1) && window.stride[1] <= 2;
  return is && both(window.kernel, 3) ? 3 : is && both(window.kernel, 5) ? 5 : 0;
}

/// A sequence has rows instead of columns, as tiles have all columns of an image.
ConvolutionShape upright(ConvolutionShape shape) {
  if (shape.in.height != 1 || shape.window.kernel[0] != 1 || shape.out.height != 1) return shape;
  for (ImageExtents* const image : {&shape.in, &shape.out}) std::swap(image->height, image->width);
  Window& window = shape.window;
  for (auto* const axes : {&window.kernel, &window.stride, &window.dilation, &window.pad_begin, &window.pad_end})
    std::swap((*axes)[0], (*axes)[1]);
  return shape;
}

}  // namespace

Tiling::Tiling(const ConvolutionShape& of, const Kernels& kernels, int threads)
    : shape(upright(of)), lanes(kernels.lanes), square(square_of(shape.window)) {
  const Window& window = shape.window;
  const Extent left = window.pad_begin[1];
  const Extent width = shape.out.width;
  const Extent height = shape.out.height;
  pitch = std::max(left + shape.in.width, (width - 1) * window.stride[1] + reach(1) + 1);

  beyond_ = square == 0 ? 0 : std::max<Extent>(lanes - width, 0) * window.stride[1] * lanes;

  const Extent pieces = shape.out.images * blocks();
  parts = std::min(pieces < threads ? divided(threads, pieces) : 1, height);
  rows_of_part = divided(height, parts);
  Extent tiles = 1;
  while (tiles < rows_of_part && input_rows(divided(rows_of_part, tiles)) * row_size() > kTileNumbers) ++tiles;
  rows = divided(rows_of_part, tiles);

  for (Extent row = 0; row < input_rows(rows); ++row)
    for (Extent column = 0; column < shape.in.width; ++column)
      pixel_places.push_back(row * row_size() + (left + column) * lanes);
  for (Extent row = 0; row < rows; ++row)
    for (Extent column = 0; column < width; ++column)
      window_places.push_back(row * window.stride[0] * row_size() + column * window.stride[1] * lanes);
  if (window_places.size() < static_cast<std::size_t>(lanes)) window_places.resize(static_cast<std::size_t>(lanes));
  for (Extent row = 0; row < Extent{window.kernel[0]}; ++row)
    for (Extent column = 0; column < Extent{window.kernel[1]}; ++column)
      tap_places.push_back(row * window.dilation[0] * row_size() + column * window.dilation[1] * lanes);
  in_place = fits_in_place() && cycles_in_place() < cycles_in_tiles();
}

// Of AVX2 measured on a Zen 3, of AVX-512 on a Zen 4.

// With 3 x 3 taps 9 to 16 cycles for each register of the output, 20 to 24 with a stride of 2.
double Tiling::cycles_in_tiles() const {
  const auto number = [](Extent count) { return static_cast<double>(count); };
  const auto registers = [&](Extent pixels) { return number(divided(pixels, lanes) * lanes); };
  const Extent rows_read = std::min(input_rows(rows_of_part), shape.in.height);
  const double copied = 2.8 * registers(rows_read * shape.in.width) +
                        0.5 * number((input_rows(rows_of_part) - rows_read) * shape.in.width);
  const double sum = 3.2 + (square > 0 ? 0.57 * share_of_rows_inside(shape) : 0.75) * number(shape.taps());
  const double sums =
      number(shape.filters()) *
      (square > 0 ? number(rows_of_part) * registers(shape.out.width) : registers(rows_of_part * shape.out.width)) *
      sum;
  return 60 + (lanes::computes_in_halves(lanes) ? 1.85 : 1) * (copied + sums);
}

double Tiling::cycles_in_place() const {
  const double of_plane = lanes == 16 ? cycles_of_plane_by_windows() : cycles_of_plane();
  return static_cast<double>(lanes * shape.filters()) * of_plane;
}

// The first and the last register of a row may read padding.
double Tiling::cycles_of_plane() const {
  const auto number = [](Extent count) { return static_cast<double>(count); };
  const bool strided = shape.window.stride[1] == 2;
  const double inside = number(std::max<Extent>(divided(shape.out.width, lanes) - 2, 0)) * (strided ? 12 : 7.2);
  const double edges = number(std::min<Extent>(divided(shape.out.width, lanes), 2)) * (strided ? 34 : 16.5);
  return number(divided(rows_of_part, kRowsInPlace) * kRowsInPlace) * (inside + edges);
}

double Tiling::cycles_of_plane_by_windows() const {
  const PlaneForm form(square, shape.window.stride[1], shape.out.width, rows_of_part);
  const Extent registers = divided(rows_of_part, form.down * form.together) * form.down *
                           (form.together == 2 ? 1 : divided(shape.out.width, form.columns));
  const double of_register = square == 5 ? 43 : shape.window.stride[1] == 2 ? 19.5 : 12;
  const double wholes = lanes::halves_avx512() ? 1 : 0.6;  // 0.5 to 0.95 on a Sapphire Rapids
  return wholes * (20 + of_register * static_cast<double>(registers));
}

double Tiling::cycles(int threads) const {
  const Extent items = divided(shape.out.images * blocks() * parts, threads);
  return (in_place ? cycles_in_place() : cycles_in_tiles()) * static_cast<double>(items);
}

}  // namespace spdnn::depthwise
