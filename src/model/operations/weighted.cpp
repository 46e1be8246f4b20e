// Convolution and linear: sums over a window or a row of weights.

#include <algorithm>

#include "model/operations/geometry.hpp"
#include "model/operations/operations.hpp"
#include "model/operations/requirements.hpp"

namespace spdnn {

const Weights* weights_or_null(const Operation& operation) {
  if (const auto* convolution = std::get_if<Convolution>(&operation)) return &convolution->weights;
  if (const auto* linear = std::get_if<Linear>(&operation)) return &linear->weights;
  return nullptr;
}

const CsrMatrix* matrix_or_null(const Operation& operation) {
  const Weights* const weights = weights_or_null(operation);
  return weights == nullptr ? nullptr : &weights->csr();
}

Tensor dense_filters(const Convolution& convolution) {
  const CsrMatrix& weights = convolution.weights;
  const auto [height, width] = convolution.window.kernel;
  const Extent channels = Extent{weights.cols} / height / width;
  return {{Extent{weights.rows}, channels, Extent{height}, Extent{width}}, dense_rows(weights, 0, weights.rows)};
}

namespace rules {

namespace {

/// A form holds a matrix. Columns of a row ascend and no stored value is zero, so that entries are the filter's
/// non-zeros.
void require_filter_rows(const Weights& given, Offset taps) {
  if (const TypedMatrix* const typed = given.typed()) {
    typed->validate();
    if (typed->pattern == Pattern::two_of_four && typed->taps != taps)
      invalid("its weights have " + std::to_string(typed->taps) + " taps for each input, expected " +
              std::to_string(taps));
  }
  const CsrMatrix& weights = given;
  weights.validate();
  for (Index row = 0; row < weights.rows; ++row) {
    const auto columns = weights.row(row);
    if (!std::is_sorted(columns.begin(), columns.end(), std::less_equal<>{}))
      invalid("the columns of row " + std::to_string(row) + " of its weights do not ascend");
  }
  for (Offset k = 0; k < weights.entries(); ++k)
    if (weights.entry_value(k) == 0.0F) invalid("its weights store zeros");
}

void require_bias(const std::vector<float>& bias, const Weights& weights) {
  if (!bias.empty() && bias.size() != weights.rows())
    invalid("its bias has " + std::to_string(bias.size()) + " values for " + std::to_string(weights.rows()) +
            " outputs");
  require_finite(bias, "its bias");
}

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

Magnitude magnitude_of_sums(const std::vector<float>& bias, const Operands& operands) {
  double largest = 0;
  for (std::size_t row = 0; row < operands.row_sums.size(); ++row)
    largest = std::max(largest,
                       operands.row_sums[row] * operands.largest[0] + (bias.empty() ? 0 : std::abs(double{bias[row]})));
  return all_at_most(largest);
}

}  // namespace

std::string_view name(const Convolution& /*operation*/) { return "convolution"; }

void check(const Convolution& convolution) {
  const Weights& weights = convolution.weights;
  const Offset taps = Offset{convolution.window.kernel[0]} * convolution.window.kernel[1];
  require_filter_rows(weights, taps);
  require_bias(convolution.bias, weights);
  if (taps == 0 || weights.cols() % taps != 0) invalid("its filters do not have the size of its window");
  if (convolution.groups == 0 || weights.rows() % convolution.groups != 0)
    invalid(std::to_string(weights.rows()) + " filters do not divide into " + std::to_string(convolution.groups) +
            " groups");
}

Shape shape(const Convolution& convolution, const std::vector<Shape>& inputs) {
  const Shape& x = only_images(inputs);
  require_window(convolution.window, x);
  const Offset taps = Offset{convolution.window.kernel[0]} * convolution.window.kernel[1];
  const Offset read = Offset{convolution.weights.cols()} / taps * convolution.groups;
  if (static_cast<Offset>(x[1]) != read)
    refuse("filters of " + std::to_string(read) + " channels do not fit " + shape_text(x));
  return with_image_extents(x, convolution.weights.rows(), output_extent(convolution.window, 0, x),
                            output_extent(convolution.window, 1, x));
}

void evaluate(const Convolution& convolution, const std::vector<const Bounded*>& inputs, Bounded& y) {
  const Bounded& x = *inputs[0];
  y.terms = longest_row(convolution.weights);
  const ImageExtents in = image_extents(x.shape);
  const ImageExtents out = image_extents(y.shape);
  const Window& window = convolution.window;
  const Index filters_in_group = convolution.weights.rows() / convolution.groups;
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
        set(y, o, {sum.value, sum.bound(static_cast<double>(taps.size()) + 3)});
      }
    }
  });
}

Magnitude magnitude(const Convolution& convolution, const Operands& operands) {
  return magnitude_of_sums(convolution.bias, operands);
}

std::string_view name(const Linear& /*operation*/) { return "linear"; }

void check(const Linear& linear) {
  require_filter_rows(linear.weights, 1);
  require_bias(linear.bias, linear.weights);
}

Shape shape(const Linear& linear, const std::vector<Shape>& inputs) {
  Shape shape = only(inputs);
  if (shape.empty() || shape.back() != Extent{linear.weights.cols()})
    refuse("weights of " + std::to_string(linear.weights.cols()) + " inputs do not fit " + shape_text(shape));
  shape.back() = linear.weights.rows();
  return shape;
}

void evaluate(const Linear& linear, const std::vector<const Bounded*>& inputs, Bounded& y) {
  const Bounded& x = *inputs[0];
  y.terms = longest_row(linear.weights);
  const CsrMatrix& weights = linear.weights;
  if (weights.rows == 0) return;
  parallel_for(y.values.size() / weights.rows, [&](std::size_t image) {
    for (Index k = 0; k < weights.rows; ++k) {
      Sum sum;
      for (Offset entry = weights.offsets[k]; entry < weights.offsets[std::size_t{k} + 1]; ++entry) {
        const std::size_t i = image * weights.cols + weights.indices[entry];
        sum.add(weights.entry_value(entry), x.values[i], x.bounds[i]);
      }
      sum.add(linear.bias.empty() ? 0 : linear.bias[k], 1, 0);
      set(y, image * weights.rows + k, {sum.value, sum.bound(static_cast<double>(weights.degree(k)) + 3)});
    }
  });
}

Magnitude magnitude(const Linear& linear, const Operands& operands) { return magnitude_of_sums(linear.bias, operands); }

}  // namespace rules

}  // namespace spdnn
