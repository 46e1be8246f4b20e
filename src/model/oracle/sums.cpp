// Convolution, linear and the pools: what runs over a window or a row of weights.

#include <algorithm>
#include <limits>

#include "core/parallel.hpp"
#include "model/operations/geometry.hpp"
#include "model/oracle/operations.hpp"

namespace spdnn::reference {

namespace {

/// An entry of a filter, its column taken apart.
struct Tap {
  Extent channel;  ///< within the group
  Extent row;
  Extent column;
  double weight;
};

std::vector<Tap> taps_of(const Convolution& convolution, Index filter) {
  const Index height = convolution.window.kernel[0];
  const Index width = convolution.window.kernel[1];
  const CsrMatrix& weights = convolution.weights;
  std::vector<Tap> taps;
  for (Offset k = weights.offsets[filter]; k < weights.offsets[std::size_t{filter} + 1]; ++k) {
    const Index column = weights.indices[k];
    taps.push_back({column / width / height, column / width % height, column % width, weights.entry_value(k)});
  }
  return taps;
}

Offset longest_row(const CsrMatrix& weights) {
  Offset longest = 0;
  for (Index row = 0; row < weights.rows; ++row) longest = std::max(longest, weights.degree(row));
  return longest;
}

}  // namespace

Bounded convolve(const Convolution& convolution, const Bounded& x) {
  Bounded y = blank(output_shape(convolution, {x.shape}));
  y.terms = longest_row(convolution.weights);
  const ImageExtents in = image_extents(x.shape);
  const ImageExtents out = image_extents(y.shape);
  const Window& window = convolution.window;
  const Index filters_in_group = convolution.weights.rows / convolution.groups;
  const Extent channels_in_group = in.channels / convolution.groups;
  parallel_for(static_cast<std::size_t>(out.images * out.channels), [&](std::size_t plane) {
    const Extent n = static_cast<Extent>(plane) / out.channels;
    const auto k = static_cast<Index>(static_cast<Extent>(plane) % out.channels);
    const std::vector<Tap> taps = taps_of(convolution, k);
    const Extent first_channel = n * in.channels + k / filters_in_group * channels_in_group;
    const double bias = convolution.bias.empty() ? 0 : convolution.bias[k];
    for (Extent p = 0; p < out.height; ++p) {
      for (Extent q = 0; q < out.width; ++q) {
        Sum sum;
        for (const Tap& tap : taps) {
          const Extent h = tap_position(window, 0, p, tap.row);
          const Extent w = tap_position(window, 1, q, tap.column);
          if (h < 0 || h >= in.height || w < 0 || w >= in.width) continue;  // padding is zeros
          const auto i = static_cast<std::size_t>(((first_channel + tap.channel) * in.height + h) * in.width + w);
          sum.add(tap.weight, x.values[i], x.bounds[i]);
        }
        sum.add(bias, 1, 0);
        const auto o = static_cast<std::size_t>((static_cast<Extent>(plane) * out.height + p) * out.width + q);
        y.values[o] = sum.value;
        y.bounds[o] = sum.bound(static_cast<double>(taps.size()) + 3);
      }
    }
  });
  return y;
}

Bounded multiply_rows(const Linear& linear, const Bounded& x) {
  Bounded y = blank(output_shape(linear, {x.shape}));
  y.terms = longest_row(linear.weights);
  const CsrMatrix& weights = linear.weights;
  if (weights.rows == 0) return y;
  parallel_for(y.values.size() / weights.rows, [&](std::size_t image) {
    for (Index k = 0; k < weights.rows; ++k) {
      Sum sum;
      for (Offset entry = weights.offsets[k]; entry < weights.offsets[std::size_t{k} + 1]; ++entry) {
        const std::size_t i = image * weights.cols + weights.indices[entry];
        sum.add(weights.entry_value(entry), x.values[i], x.bounds[i]);
      }
      sum.add(linear.bias.empty() ? 0 : linear.bias[k], 1, 0);
      y.values[image * weights.rows + k] = sum.value;
      y.bounds[image * weights.rows + k] = sum.bound(static_cast<double>(weights.degree(k)) + 3);
    }
  });
  return y;
}

namespace {

/// The maximum or mean of what it is given.
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

}  // namespace

Bounded pool(const Pool& pool, const Bounded& x) {
  Bounded y = blank(output_shape(pool, {x.shape}));
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
  return y;
}

Bounded pool_all(const GlobalPool& pool, const Bounded& x) {
  Bounded y = blank(output_shape(pool, {x.shape}));
  const Extent pixels = image_extents(x.shape).pixels();
  parallel_for(y.values.size(), [&](std::size_t plane) {
    Pooled pooled;
    for (std::size_t i = plane * static_cast<std::size_t>(pixels); i < (plane + 1) * static_cast<std::size_t>(pixels);
         ++i)
      pooled.add(x.values[i], x.bounds[i]);
    pooled.write(pool.kind, pixels, y.values[plane], y.bounds[plane]);
  });
  return y;
}

}  // namespace spdnn::reference
