// Pool and global pool: maxima and means.

#include <algorithm>
#include <limits>

#include "model/operations/geometry.hpp"
#include "model/operations/operations.hpp"
#include "model/operations/requirements.hpp"

namespace spdnn::rules {

namespace {

/// A maximum or a mean of nothing has no value: each window must meet the image.
void require_content(const Pool& pool, std::size_t axis, Extent length, Extent count) {
  const Window& window = pool.window;
  const auto meets = [&](Extent number) {
    const Extent first = tap_position(window, axis, number, 0);
    const Extent dilation = window.dilation[axis];
    const Extent skipped = first >= 0 ? 0 : (-first + dilation - 1) / dilation;  // taps before the image
    return skipped < Extent{window.kernel[axis]} && first + skipped * dilation < length;
  };
  // Windows that begin in the image meet it. Of those that begin before it, the later ones skip fewer taps, and the
  // first tap that is not skipped lies at one of `dilation` positions, which repeat.
  const Extent outside = (Extent{window.pad_begin[axis]} + window.stride[axis] - 1) / window.stride[axis];
  for (Extent number = 0; number < std::min({count, outside, Extent{window.dilation[axis]}}); ++number)
    if (!meets(number)) refuse("a window of the pool lies in the padding alone");
  if (!meets(count - 1)) refuse("a window of the pool lies in the padding alone");
}

/// The maximum or mean of its arguments.
class Pooled {
 public:
  void add(double x, double bound) {
    if (x > largest_ || std::isnan(x)) largest_ = x;  // and is none once one is none
    upper_ = std::max(upper_, x + bound);
    sum_.add(1, x, bound);
  }
  /// A mean divides by `count`.
  void write(Pool::Kind kind, Extent count, double& value, double& bound) const {
    const auto divisor = static_cast<double>(count);
    value = kind == Pool::Kind::max ? largest_ : sum_.value / divisor;
    bound = kind == Pool::Kind::max ? upper_ - largest_ : sum_.bound(divisor + 4) / divisor;
  }

 private:
  static constexpr double kLeast = -std::numeric_limits<double>::infinity();
  double largest_ = kLeast;
  double upper_ = kLeast;  ///< the largest that the maximum may be; it can be off by less to the other side
  Sum sum_;
};

Magnitude magnitude_of_mean(Pool::Kind kind, double terms, double largest) {
  return {kind == Pool::Kind::max ? largest : terms * largest, largest};
}

}  // namespace

std::string_view name(const Pool& pool) { return pool.kind == Pool::Kind::max ? "max pool" : "average pool"; }

void check(const Pool& /*operation*/) {}

Shape shape(const Pool& pool, const std::vector<Shape>& inputs) {
  const Shape& x = only_images(inputs);
  require_window(pool.window, x);
  const ImageExtents extents = image_extents(x);
  std::array<Extent, 2> counts{};
  for (std::size_t axis = 0; axis < 2; ++axis) {
    counts[axis] = output_extent(pool.window, axis, x, pool.round_up);
    require_content(pool, axis, extents.spatial(axis), counts[axis]);
  }
  return with_image_extents(x, extents.channels, counts[0], counts[1]);
}

void evaluate(const Pool& pool, const std::vector<const Bounded*>& inputs, Bounded& y) {
  const Bounded& x = *inputs[0];
  const ImageExtents in = image_extents(x.shape);
  const ImageExtents out = image_extents(y.shape);
  const Window& window = pool.window;
  const auto in_padding = [&](std::size_t axis, Extent position) {
    return position < in.spatial(axis) + Extent{window.pad_end[axis]};
  };
  parallel_for(static_cast<std::size_t>(out.images * out.channels), [&](std::size_t plane) {
    for (Extent p = 0; p < out.height; ++p) {
      for (Extent q = 0; q < out.width; ++q) {
        Pooled pooled;
        Extent count = 0;
        for (Extent r = 0; r < Extent{window.kernel[0]}; ++r) {
          for (Extent s = 0; s < Extent{window.kernel[1]}; ++s) {
            const Extent h = tap_position(window, 0, p, r);
            const Extent w = tap_position(window, 1, q, s);
            const bool inside = h >= 0 && h < in.height && w >= 0 && w < in.width;
            if (inside || (pool.count_padding && in_padding(0, h) && in_padding(1, w))) ++count;
            if (!inside) continue;
            const auto i = static_cast<std::size_t>((static_cast<Extent>(plane) * in.height + h) * in.width + w);
            pooled.add(x.values[i], x.bounds[i]);
          }
        }
        const auto o = static_cast<std::size_t>((static_cast<Extent>(plane) * out.height + p) * out.width + q);
        pooled.write(pool.kind, count, y.values[o], y.bounds[o]);
      }
    }
  });
}

Magnitude magnitude(const Pool& pool, const Operands& operands) {
  const Offset taps = Offset{pool.window.kernel[0]} * pool.window.kernel[1];
  return magnitude_of_mean(pool.kind, static_cast<double>(taps), operands.largest[0]);
}

std::string_view name(const GlobalPool& pool) {
  return pool.kind == Pool::Kind::max ? "global max pool" : "global average pool";
}

void check(const GlobalPool& /*operation*/) {}

Shape shape(const GlobalPool& /*operation*/, const std::vector<Shape>& inputs) {
  const Shape& x = only_images(inputs);
  if (image_extents(x).pixels() == 0) refuse("there is nothing to pool in " + shape_text(x));
  return with_image_extents(x, x[1], 1, 1);
}

void evaluate(const GlobalPool& pool, const std::vector<const Bounded*>& inputs, Bounded& y) {
  const Bounded& x = *inputs[0];
  const Extent pixels = image_extents(x.shape).pixels();
  parallel_for(y.values.size(), [&](std::size_t plane) {
    Pooled pooled;
    for (std::size_t i = plane * static_cast<std::size_t>(pixels); i < (plane + 1) * static_cast<std::size_t>(pixels);
         ++i)
      pooled.add(x.values[i], x.bounds[i]);
    pooled.write(pool.kind, pixels, y.values[plane], y.bounds[plane]);
  });
}

Magnitude magnitude(const GlobalPool& pool, const Operands& operands) {
  const Extent pixels = image_extents(operands.values[0]->shape).pixels();
  return magnitude_of_mean(pool.kind, static_cast<double>(pixels), operands.largest[0]);
}

}  // namespace spdnn::rules
