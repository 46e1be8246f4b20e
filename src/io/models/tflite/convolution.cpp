// Convolutions, pooling and fully connected layers.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <span>

#include "io/models/same_padding.hpp"
#include "io/models/tflite/operators.hpp"
#include "io/models/transposed_convolution.hpp"
#include "io/models/weights_of_type.hpp"

namespace spdnn::tflite_reader {

namespace {

Index checked(OperatorReader& op, const char* what, std::int64_t number) {
  if (number < 1 || number > std::int64_t{kMaxIndex})
    op.fail(fmt::format("{} {} is outside 1..{}", what, number, kMaxIndex));
  return static_cast<Index>(number);
}

/// Sets stride and padding from the options shared by convolutions and pooling; kernel and dilation are already set.
template <class Options>
void set_window(OperatorReader& op, const Options& options, const Shape& images, Window& window) {
  window.stride = {checked(op, "stride_h", options.stride_h()), checked(op, "stride_w", options.stride_w())};
  if (options.padding() == tflite::Padding::VALID) return;
  if (options.padding() != tflite::Padding::SAME)
    op.fail(fmt::format("padding {} is neither SAME nor VALID", static_cast<int>(options.padding())));
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const auto [less, more] =
        same_padding(images[2 + axis], window.kernel[axis], window.stride[axis], window.dilation[axis]);
    if (more > Extent{kMaxIndex}) op.fail(fmt::format("padding of {} is too much", more));
    window.pad_begin[axis] = static_cast<Index>(less);
    window.pad_end[axis] = static_cast<Index>(more);
  }
}

/// The filters of an operator: four axes, with H and W second and third.
const Constant& filters(OperatorReader& op) {
  const Constant& filters = op.constant(1);
  if (filters.shape.size() != 4)
    op.fail_input(1, fmt::format("its shape is {}; expected four axes", shape_text(filters.shape)));
  return filters;
}

/// The weights as a matrix of rows x columns, whose size is checked, in the type that the file has.
Weights weights(OperatorReader& op, const Constant& constant, Extent rows, Extent cols, const Placement& placement) {
  if (rows > Extent{kMaxIndex} || cols > Extent{kMaxIndex})
    op.fail_input(1, fmt::format("{} x {} weights are too many", rows, cols));
  CsrMatrix matrix =
      matrix_of(constant, static_cast<Index>(rows), static_cast<Index>(cols), placement, op.graph().budget());
  return weights_of_type(std::move(matrix), constant.type);
}

template <class Options>
void add_convolution(OperatorReader& op, const Options& options, Convolution convolution, ValueId x) {
  Window& window = convolution.window;
  window.dilation = {checked(op, "dilation_h_factor", options.dilation_h_factor()),
                     checked(op, "dilation_w_factor", options.dilation_w_factor())};
  set_window(op, options, op.shape(x), window);
  convolution.bias = op.bias(2, convolution.weights.rows());
  op.set_output(op.add(std::move(convolution), {x}), options.fused_activation_function());
}

/// A transposed convolution with filters of output channels x H x W x input channels.
class Transposed {
 public:
  /// `filters` is the input that has them; `output`: H and W, which otherwise follow from the padding.
  Transposed(OperatorReader& op, std::size_t filters, ValueId x, const std::array<std::int64_t, 2>& stride, bool same,
             const std::optional<std::array<std::int64_t, 2>>& output) {
    const Constant given = densified(op.constant(filters), op.graph().budget());
    if (given.shape.size() != 4 || given.shape[3] != op.shape(x)[1])
      op.fail_input(filters,
                    fmt::format("filters of {} do not fit {} channels", shape_text(given.shape), op.shape(x)[1]));
    weights_ = transposed(given, {3, 0, 1, 2}, op.graph().budget());
    of_.weights = weights_.values.span();
    of_.inputs = given.shape[3];
    of_.outputs = given.shape[0];
    for (std::size_t axis = 0; axis < 2; ++axis) {
      TransposedConvolution::Axis& one = of_.axes[axis];
      one.input = op.shape(x)[2 + axis];
      one.kernel = given.shape[1 + axis];
      one.stride = checked(op, axis == 0 ? "stride_h" : "stride_w", stride[axis]);
      const Extent without = same ? one.input * one.stride : one.whole();
      one.output = checked(op, "an output axis of", output ? (*output)[axis] : without);
      if (same) one.padding = std::max<Extent>(one.whole() - one.output, 0) / 2;
    }
  }
  ValueId add(OperatorReader& op, ValueId x, std::size_t bias) const {
    TransposedConvolution of = of_;
    of.bias = op.bias(bias, static_cast<Index>(of.outputs));
    return of.add(op, x);
  }

 private:
  Constant weights_;
  TransposedConvolution of_;
};

void read_pool(OperatorReader& op, Pool::Kind kind) {
  const auto& options = op.needed<tflite::Pool2DOptions>();
  const ValueId x = op.images(0);
  Pool pool;
  pool.kind = kind;
  pool.window.kernel = {checked(op, "filter_height", options.filter_height()),
                        checked(op, "filter_width", options.filter_width())};
  set_window(op, options, op.shape(x), pool.window);
  op.set_output(op.add(pool, {x}), options.fused_activation_function());
}

}  // namespace

void read_conv(OperatorReader& op) {
  const auto& options = op.needed<tflite::Conv2DOptions>();
  const ValueId x = op.images(0);
  const Constant& w = filters(op);  // output channels x H x W x input channels of a group
  const Extent channels = w.shape[3];
  if (op.shape(x)[1] % channels != 0 || w.shape[0] % (op.shape(x)[1] / channels) != 0)
    op.fail_input(1, fmt::format("filters of {} channels do not fit {} channels", channels, op.shape(x)[1]));
  Convolution convolution;
  convolution.groups = static_cast<Index>(op.shape(x)[1] / channels);
  convolution.window.kernel = {static_cast<Index>(w.shape[1]), static_cast<Index>(w.shape[2])};
  const auto width = static_cast<Offset>(w.shape[2]);
  const Placement placement{{1, 0, 0, 0}, {0, width, 1, static_cast<Offset>(w.shape[1]) * width}};
  convolution.weights = weights(op, w, w.shape[0], static_cast<Extent>(w.size()) / w.shape[0], placement);
  add_convolution(op, options, std::move(convolution), x);
}

void read_depthwise_conv(OperatorReader& op) {
  const auto& options = op.needed<tflite::DepthwiseConv2DOptions>();
  const ValueId x = op.images(0);
  const Constant& w = filters(op);  // 1 x H x W x output channels; those of one input channel are adjacent
  const Extent channels = op.shape(x)[1];
  if (w.shape[0] != 1 || w.shape[3] % channels != 0)
    op.fail_input(1, fmt::format("filters of {} do not fit {} channels", shape_text(w.shape), channels));
  if (options.depth_multiplier() != 0 && options.depth_multiplier() != w.shape[3] / channels)
    op.fail(fmt::format("depth_multiplier {}, expected {}", options.depth_multiplier(), w.shape[3] / channels));
  Convolution convolution;
  convolution.groups = static_cast<Index>(channels);
  convolution.window.kernel = {static_cast<Index>(w.shape[1]), static_cast<Index>(w.shape[2])};
  const Placement placement{{0, 0, 0, 1}, {0, static_cast<Offset>(w.shape[2]), 1, 0}};
  convolution.weights = weights(op, w, w.shape[3], w.shape[1] * w.shape[2], placement);
  add_convolution(op, options, std::move(convolution), x);
}

void read_transpose_conv(OperatorReader& op) {
  const auto& options = op.needed<tflite::TransposeConvOptions>();
  const ValueId x = op.images(2);
  const std::vector<std::int64_t> shape = op.integers(0);
  if (shape.size() != 4) op.fail_input(0, fmt::format("{} lengths, expected those of four axes", shape.size()));
  const std::array<std::int64_t, 2> stride{options.stride_h(), options.stride_w()};
  const Transposed transposed(op, 1, x, stride, options.padding() == tflite::Padding::SAME, {{shape[1], shape[2]}});
  op.set_output(transposed.add(op, x, 3), options.fused_activation_function());
}

/// MediaPipe's. Its options are the kind of padding (1: SAME, 2: VALID), and the strides along W and H.
void read_transpose_conv_with_bias(OperatorReader& op) {
  std::array<std::int32_t, 3> options{};
  const std::span<const std::uint8_t> given = op.custom_options();
  if (given.size() < sizeof options) op.fail(fmt::format("{} bytes of options, expected 12", given.size()));
  std::memcpy(options.data(), given.data(), sizeof options);
  if (options[0] != 1 && options[0] != 2)
    op.fail(fmt::format("padding {} is neither 1 (SAME) nor 2 (VALID)", options[0]));
  const ValueId x = op.images(0);
  const Transposed transposed(op, 1, x, {options[2], options[1]}, options[0] == 1, std::nullopt);
  op.set_output(transposed.add(op, x, 2));
}

void read_max_pool(OperatorReader& op) { read_pool(op, Pool::Kind::max); }
void read_average_pool(OperatorReader& op) { read_pool(op, Pool::Kind::average); }

void read_mean(OperatorReader& op) {
  const auto* options = op.options<tflite::ReducerOptions>();
  const ValueId x = op.images(0);
  std::vector<std::int64_t> axes = op.integers(1);
  for (std::int64_t& axis : axes)
    if (axis < 0) axis += 4;
  std::sort(axes.begin(), axes.end());
  if (axes != std::vector<std::int64_t>{1, 2}) op.fail_input(1, "a mean is supported only over H and W, axes 1 and 2");
  ValueId mean = op.add(GlobalPool{}, {x});
  if (options == nullptr || !options->keep_dims())
    mean = op.add(Reshape{{op.shape(mean)[0], op.shape(mean)[1]}}, {mean});
  op.set_output(mean);
}

void read_fully_connected(OperatorReader& op) {
  const auto& options = op.needed<tflite::FullyConnectedOptions>();
  if (options.weights_format() != tflite::WeightsFormat::DEFAULT)
    op.fail("weights_format is not supported, only DEFAULT");
  const Constant& w = op.constant(1);
  if (w.shape.size() != 2)
    op.fail_input(1, fmt::format("its shape is {}; expected outputs x inputs", shape_text(w.shape)));
  const Weights matrix = weights(op, w, w.shape[0], w.shape[1], Placement{{1, 0, 0, 0}, {0, 1, 0, 0}});
  const std::vector<float> bias = op.bias(2, matrix.rows());
  ValueId x = op.value(0);
  const bool keeps_axes = options.keep_num_dims() && op.rank(0) > 2;
  if (keeps_axes && op.rank(0) == 4) {  // applies to channels, which are not the last axis here
    Convolution convolution{.weights = matrix, .bias = bias};
    return op.set_output(op.add(std::move(convolution), {x}), options.fused_activation_function());
  }
  if (!keeps_axes && op.rank(0) != 2) {
    const Shape shape = op.shape(x);
    if (shape.empty()) op.fail_input(0, "it is a scalar");
    const bool open = shape[0] == kBatchExtent;
    const Offset all = *elements(with_batch(shape, 1));
    const Extent rows = open ? kBatchExtent : static_cast<Extent>(all / matrix.cols());
    if (all % matrix.cols() != 0 || (open && all != matrix.cols()))
      op.fail_input(1, fmt::format("weights of {} inputs do not fit {}", matrix.cols(), shape_text(shape)));
    x = op.in_file_order(x, {rows, Extent{matrix.cols()}});
  }
  op.set_output(op.add(Linear{matrix, bias}, {x}), options.fused_activation_function());
}

}  // namespace spdnn::tflite_reader
