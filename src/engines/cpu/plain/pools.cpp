#include "engines/cpu/plain/pools.hpp"

#include <algorithm>
#include <limits>

#include "engines/cpu/plain/each.hpp"
#include "model/operations/geometry.hpp"

namespace spdnn::plain {

namespace {

/// A pool's result for the elements of one window.
class Pooled {
 public:
  explicit Pooled(Pool::Kind kind) : kind_(kind) {}
  void add(float x) {
    most_ = std::max(most_, x);
    sum_ += x;
    ++count_;
  }
  float result(Extent counted) const { return kind_ == Pool::Kind::max ? most_ : sum_ / static_cast<float>(counted); }
  Extent count() const { return count_; }

 private:
  Pool::Kind kind_;
  float most_ = -std::numeric_limits<float>::infinity();
  float sum_ = 0;
  Extent count_ = 0;
};

/// Of adjacent numbers: several at a time, so that no addition waits for the one before.
float pooled_together(Pool::Kind kind, const float* numbers, Extent count) {
  if (kind == Pool::Kind::max) {
    float most = -std::numeric_limits<float>::infinity();
#pragma omp simd reduction(max : most)
    for (Extent i = 0; i < count; ++i) most = std::max(most, numbers[i]);
    return most;
  }
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (Extent i = 0; i < count; ++i) sum += numbers[i];
  return sum / static_cast<float>(count);
}

float pooled(const Pool& pool, const ImageExtents& image, const float* input, Extent p, Extent q) {
  const Window& window = pool.window;
  const auto within_padding = [&](std::size_t axis, Extent place) {
    return place >= -Extent{window.pad_begin[axis]} && place < image.spatial(axis) + Extent{window.pad_end[axis]};
  };
  Pooled result(pool.kind);
  Extent padded = 0;
  for (Extent r = 0; r < Extent{window.kernel[0]}; ++r)
    for (Extent s = 0; s < Extent{window.kernel[1]}; ++s) {
      const Extent y = tap_position(window, 0, p, r);
      const Extent x = tap_position(window, 1, q, s);
      if (y >= 0 && y < image.height && x >= 0 && x < image.width)
        result.add(input[y * image.width + x]);
      else if (within_padding(0, y) && within_padding(1, x))
        ++padded;
    }
  return result.result(result.count() + (pool.count_padding ? padded : 0));
}

/// Of `count` windows that begin `stride` pixels after one another, one pixel each.
template <class Stride>
void keep_largest(const float* pixels, Extent count, Stride stride, float* results) {
  for (Extent q = 0; q < count; ++q) results[q] = std::max(results[q], pixels[q * stride]);
}

/// The maxima of a row of windows: taps outside, so that neighbouring windows are compared together.
void pool_row(const Window& window, const ImageExtents& in, const float* plane, Extent p, Extent width,
              float* results) {
  std::fill_n(results, width, -std::numeric_limits<float>::infinity());
  const Extent stride = window.stride[1];
  for (Extent r = 0; r < Extent{window.kernel[0]}; ++r) {
    const Extent y = tap_position(window, 0, p, r);
    if (y < 0 || y >= in.height) continue;
    for (Extent s = 0; s < Extent{window.kernel[1]}; ++s) {
      const Extent x = tap_position(window, 1, 0, s);
      const Extent first = x < 0 ? (-x + stride - 1) / stride : 0;
      const Extent last = std::min(width, x < in.width ? (in.width - x + stride - 1) / stride : 0);
      const float* const pixels = plane + y * in.width + x + first * stride;
      if (stride == 1)
        keep_largest(pixels, last - first, std::integral_constant<Extent, 1>(), results + first);
      else if (stride == 2)
        keep_largest(pixels, last - first, std::integral_constant<Extent, 2>(), results + first);
      else
        keep_largest(pixels, last - first, stride, results + first);
    }
  }
}

/// Whether windows are of 2 x 2 pixels, side by side and inside of the image, as in most networks.
bool has_quads(const Window& window, const ImageExtents& in, const ImageExtents& out) {
  const auto both = [](const std::array<Index, 2>& axes, Index value) { return axes[0] == value && axes[1] == value; };
  return both(window.kernel, 2) && both(window.stride, 2) && both(window.dilation, 1) && both(window.pad_begin, 0) &&
         2 * out.height <= in.height && 2 * out.width <= in.width;
}

/// The maxima of a row of such windows, without a pass for each tap: rows are often short.
void pool_quads(const float* __restrict upper, const float* __restrict lower, Extent count, float* __restrict results) {
  for (Extent q = 0; q < count; ++q)
    results[q] = std::max(std::max(upper[2 * q], upper[2 * q + 1]), std::max(lower[2 * q], lower[2 * q + 1]));
}

}  // namespace

void pool(const Pool& pool, const Shape& from, const Shape& to, const float* input, float* output) {
  const ImageExtents in = image_extents(from);
  const ImageExtents out = image_extents(to);
  const bool quads = has_quads(pool.window, in, out);
  if (pool.kind == Pool::Kind::max)
    return for_each(out.images * out.channels, [&](Extent plane) {
      const float* const from_plane = input + plane * in.pixels();
      for (Extent p = 0; p < out.height; ++p) {
        float* const results = output + (plane * out.height + p) * out.width;
        const float* const upper = from_plane + 2 * p * in.width;
        if (quads)
          pool_quads(upper, upper + in.width, out.width, results);
        else
          pool_row(pool.window, in, from_plane, p, out.width, results);
      }
    });
  for_each(out.images * out.channels, [&](Extent plane) {
    for (Extent p = 0; p < out.height; ++p)
      for (Extent q = 0; q < out.width; ++q)
        output[(plane * out.height + p) * out.width + q] = pooled(pool, in, input + plane * in.pixels(), p, q);
  });
}

void pool_channels(const Pool& pool, const Shape& from, const Shape& to, const float* input, float* output) {
  const ImageExtents in = image_extents(from);
  const ImageExtents out = image_extents(to);
  const Window& window = pool.window;
  const Extent channels = in.channels;
  const auto in_padding = [&](std::size_t axis, Extent place) {
    return place >= -Extent{window.pad_begin[axis]} && place < in.spatial(axis) + Extent{window.pad_end[axis]};
  };
  const bool largest = pool.kind == Pool::Kind::max;
  for_each(out.images * out.height, [&](Extent line) {
    const float* const image = input + line / out.height * in.pixels() * channels;
    for (Extent q = 0; q < out.width; ++q) {
      float* const results = output + (line * out.width + q) * channels;
      std::fill_n(results, channels, largest ? -std::numeric_limits<float>::infinity() : 0.F);
      Extent counted = 0;
      for (Extent r = 0; r < Extent{window.kernel[0]}; ++r)
        for (Extent s = 0; s < Extent{window.kernel[1]}; ++s) {
          const Extent y = tap_position(window, 0, line % out.height, r);
          const Extent x = tap_position(window, 1, q, s);
          if (y < 0 || y >= in.height || x < 0 || x >= in.width) {
            counted += pool.count_padding && in_padding(0, y) && in_padding(1, x) ? 1 : 0;
            continue;
          }
          ++counted;
          const float* const pixel = image + (y * in.width + x) * channels;
          if (largest)
            for (Extent c = 0; c < channels; ++c) results[c] = std::max(results[c], pixel[c]);
          else
            for (Extent c = 0; c < channels; ++c) results[c] += pixel[c];
        }
      if (!largest)
        for (Extent c = 0; c < channels; ++c) results[c] /= static_cast<float>(counted);
    }
  });
}

void global_pool(const GlobalPool& pool, const Shape& from, bool innermost, const float* input, float* output) {
  const Extent size = elements_from(from, 2);
  if (!innermost) {
    for_each(from[0] * from[1],
             [&](Extent plane) { output[plane] = pooled_together(pool.kind, input + plane * size, size); });
    return;
  }
  const Extent channels = from[1];
  for_each(from[0], [&](Extent image) {
    std::vector<Pooled> results(static_cast<std::size_t>(channels), Pooled(pool.kind));
    const float* pixel = input + image * size * channels;
    for (Extent i = 0; i < size; ++i, pixel += channels)
      for (Extent c = 0; c < channels; ++c) results[static_cast<std::size_t>(c)].add(pixel[c]);
    for (Extent c = 0; c < channels; ++c)
      output[image * channels + c] = results[static_cast<std::size_t>(c)].result(size);
  });
}

}  // namespace spdnn::plain
