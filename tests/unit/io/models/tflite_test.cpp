// TensorFlow Lite files, read and evaluated; each operator is compared with plain loops on N x H x W x C.

#include <algorithm>
#include <cmath>

#include "model/oracle/evaluate.hpp"
#include "support/tflite_file.hpp"

namespace spdnn {
namespace {

using tflite_test::Code;
using tflite_test::csr;
using TfliteFile = tflite_test::File;
using tflite_test::Shape32;
using tflite_test::two_blocks;
using Fused = tflite::FusedActivation;

/// Integers from -4 to 4, whose sums are exact.
std::vector<float> numbers(std::size_t count, std::uint32_t seed = 1) {
  std::vector<float> values(count);
  std::uint32_t state = seed * 2654435761U + 1;
  for (float& value : values) {
    state = state * 1664525U + 1013904223U;
    value = static_cast<float>(state >> 24U) - 128;
    value = std::trunc(value / 29);
  }
  return values;
}

/// Images N x H x W x C.
struct Images {
  std::size_t height, width, channels;
  std::vector<float> values;
  float at(std::ptrdiff_t h, std::ptrdiff_t w, std::size_t c) const {
    return values[(static_cast<std::size_t>(h) * width + static_cast<std::size_t>(w)) * channels + c];
  }
  bool has(std::ptrdiff_t h, std::ptrdiff_t w) const {
    return h >= 0 && w >= 0 && h < static_cast<std::ptrdiff_t>(height) && w < static_cast<std::ptrdiff_t>(width);
  }
};

/// The same as a tensor N x C x H x W.
Tensor channels_first(const Images& x) {
  std::vector<float> values;
  for (std::size_t c = 0; c < x.channels; ++c)
    for (std::size_t p = 0; p < x.height * x.width; ++p) values.push_back(x.values[p * x.channels + c]);
  return {{1, Extent(x.channels), Extent(x.height), Extent(x.width)}, std::move(values)};
}

/// The file's only output, for one image; in the file's order of axes.
std::vector<double> outputs(const TfliteFile& file, const Images& x) {
  return evaluate(file.read(), {channels_first(x)}).at(0).values;
}

/// Calls work(output's place, input's place, tap) for all taps in the image; TensorFlow's padding SAME.
template <class Work>
void for_each_tap(const Images& x, std::size_t kernel, std::size_t stride, std::size_t dilation, Work work) {
  const std::size_t reach = dilation * (kernel - 1) + 1;
  const auto same = [&](std::size_t length) {
    const std::size_t count = (length + stride - 1) / stride;
    const std::size_t needed = (count - 1) * stride + reach;
    return std::pair(count, needed > length ? (needed - length) / 2 : 0);
  };
  const auto [rows, above] = same(x.height);
  const auto [cols, left] = same(x.width);
  for (std::size_t p = 0; p < rows; ++p)
    for (std::size_t q = 0; q < cols; ++q)
      for (std::size_t r = 0; r < kernel; ++r)
        for (std::size_t s = 0; s < kernel; ++s) {
          const auto h = static_cast<std::ptrdiff_t>(p * stride + r * dilation) - static_cast<std::ptrdiff_t>(above);
          const auto w = static_cast<std::ptrdiff_t>(q * stride + s * dilation) - static_cast<std::ptrdiff_t>(left);
          if (x.has(h, w)) work(p * cols + q, h, w, r * kernel + s);
        }
}

tflite::Conv2DOptionsT conv_options(std::int32_t stride, std::int32_t dilation, Fused fused = Fused::NONE) {
  tflite::Conv2DOptionsT options;
  options.padding = tflite::Padding::SAME;
  options.stride_h = options.stride_w = stride;
  options.dilation_h_factor = options.dilation_w_factor = dilation;
  options.fused_activation_function = fused;
  return options;
}

TEST(Tflite, ConvolutionsAreThoseOfChannelsLast) {
  for (const auto& [stride, dilation] : {std::pair{1, 1}, {2, 1}, {3, 1}, {1, 2}}) {
    const Images x{7, 6, 3, numbers(7 * 6 * 3)};
    const std::vector<float> w = numbers(4 * 9 * 3, 2);
    const std::vector<float> b = numbers(4, 3);
    const auto rows = (7 + stride - 1) / stride;
    const auto cols = (6 + stride - 1) / stride;
    TfliteFile file;
    const auto y =
        file.add(Code::CONV_2D, {file.input({1, 7, 6, 3}), file.floats("w", {4, 3, 3, 3}, w), file.floats("b", {4}, b)},
                 {1, rows, cols, 4}, conv_options(stride, dilation));
    file.output(y);
    std::vector<double> expected(static_cast<std::size_t>(rows * cols * 4));
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i] = b[i % 4];
    for_each_tap(x, 3, static_cast<std::size_t>(stride), static_cast<std::size_t>(dilation),
                 [&](std::size_t place, std::ptrdiff_t h, std::ptrdiff_t v, std::size_t tap) {
                   for (std::size_t k = 0; k < 4; ++k)
                     for (std::size_t c = 0; c < 3; ++c)
                       expected[place * 4 + k] += double{w[(k * 9 + tap) * 3 + c]} * x.at(h, v, c);
                 });
    EXPECT_EQ(outputs(file, x), expected) << stride << " " << dilation;
  }
}

TEST(Tflite, DepthwiseConvolutionsHaveTheirMultiplier) {
  const Images x{5, 4, 3, numbers(5 * 4 * 3)};
  const std::vector<float> w = numbers(9 * 6, 2);
  TfliteFile file;
  tflite::DepthwiseConv2DOptionsT options;
  options.stride_h = options.stride_w = 2;
  options.depth_multiplier = 2;
  const auto y = file.add(Code::DEPTHWISE_CONV_2D, {file.input({1, 5, 4, 3}), file.floats("w", {1, 3, 3, 6}, w)},
                          {1, 3, 2, 6}, options);
  file.output(y);
  std::vector<double> expected(3 * 2 * 6);
  for_each_tap(x, 3, 2, 1, [&](std::size_t place, std::ptrdiff_t h, std::ptrdiff_t v, std::size_t tap) {
    for (std::size_t k = 0; k < 6; ++k) expected[place * 6 + k] += double{w[tap * 6 + k]} * x.at(h, v, k / 2);
  });
  EXPECT_EQ(outputs(file, x), expected);
}

TEST(Tflite, FiltersNeedNotBeSquare) {
  const Images x{5, 4, 3, numbers(5 * 4 * 3)};
  constexpr std::size_t kRows = 4;  // of the output, for filters of 2 x 3 without padding
  constexpr std::size_t kCols = 2;
  const auto for_each_weight = [](auto work) {
    for (std::size_t i = 0; i < kRows * kCols * 6; ++i) work(i / (kCols * 6), i / 6 % kCols, i % 6 / 3, i % 3);
  };
  const auto value = [&](std::size_t h, std::size_t w, std::size_t c) {
    return double{x.at(static_cast<std::ptrdiff_t>(h), static_cast<std::ptrdiff_t>(w), c)};
  };
  {
    const std::vector<float> w = numbers(2 * 3 * 6, 2);
    TfliteFile file;
    tflite::DepthwiseConv2DOptionsT options;
    options.padding = tflite::Padding::VALID;
    options.stride_h = options.stride_w = 1;
    file.output(file.add(Code::DEPTHWISE_CONV_2D, {file.input({1, 5, 4, 3}), file.floats("w", {1, 2, 3, 6}, w)},
                         {1, 4, 2, 6}, options));
    std::vector<double> expected(kRows * kCols * 6);
    for_each_weight([&](std::size_t p, std::size_t q, std::size_t r, std::size_t s) {
      for (std::size_t k = 0; k < 6; ++k)
        expected[(p * kCols + q) * 6 + k] += w[(r * 3 + s) * 6 + k] * value(p + r, q + s, k / 2);
    });
    EXPECT_EQ(outputs(file, x), expected);
  }
  const std::vector<float> w = numbers(4 * 2 * 3 * 3, 3);
  TfliteFile file;
  tflite::Conv2DOptionsT options = conv_options(1, 1);
  options.padding = tflite::Padding::VALID;
  file.output(
      file.add(Code::CONV_2D, {file.input({1, 5, 4, 3}), file.floats("w", {4, 2, 3, 3}, w)}, {1, 4, 2, 4}, options));
  std::vector<double> expected(kRows * kCols * 4);
  for_each_weight([&](std::size_t p, std::size_t q, std::size_t r, std::size_t s) {
    for (std::size_t k = 0; k < 4; ++k)
      for (std::size_t c = 0; c < 3; ++c)
        expected[(p * kCols + q) * 4 + k] += w[((k * 2 + r) * 3 + s) * 3 + c] * value(p + r, q + s, c);
  });
  EXPECT_EQ(outputs(file, x), expected);
}

TEST(Tflite, PoolsLeavePaddingOut) {
  const Images x{5, 5, 2, numbers(50)};
  for (const Code code : {Code::MAX_POOL_2D, Code::AVERAGE_POOL_2D}) {
    TfliteFile file;
    tflite::Pool2DOptionsT options;
    options.stride_h = options.stride_w = options.filter_height = options.filter_width = 2;
    file.output(file.add(code, {file.input({1, 5, 5, 2})}, {1, 3, 3, 2}, options));
    std::vector<double> most(18, -100);
    std::vector<double> sum(18);
    std::vector<double> count(18);
    for_each_tap(x, 2, 2, 1, [&](std::size_t place, std::ptrdiff_t h, std::ptrdiff_t v, std::size_t) {
      for (std::size_t c = 0; c < 2; ++c) {
        most[place * 2 + c] = std::max(most[place * 2 + c], double{x.at(h, v, c)});
        sum[place * 2 + c] += x.at(h, v, c);
        ++count[place * 2 + c];
      }
    });
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] /= count[i];
    const std::vector<double> found = outputs(file, x);
    ASSERT_EQ(found.size(), 18U);
    for (std::size_t i = 0; i < 18; ++i) EXPECT_DOUBLE_EQ(found[i], code == Code::MAX_POOL_2D ? most[i] : sum[i]) << i;
  }
}

TEST(Tflite, ActivationsAreFused) {
  const auto of = [](Fused fused) {
    TfliteFile file;
    tflite::AddOptionsT options;
    options.fused_activation_function = fused;
    const auto zero = file.floats("zero", {}, {0});
    file.output(file.add(Code::ADD, {file.input({1, 1, 1, 3}), zero}, {1, 1, 1, 3}, options));
    return outputs(file, {1, 1, 3, {-3, 0.5, 9}});
  };
  EXPECT_EQ(of(Fused::NONE), (std::vector<double>{-3, 0.5, 9}));
  EXPECT_EQ(of(Fused::RELU), (std::vector<double>{0, 0.5, 9}));
  EXPECT_EQ(of(Fused::RELU6), (std::vector<double>{0, 0.5, 6}));
  EXPECT_EQ(of(Fused::RELU_N1_TO_1), (std::vector<double>{-1, 0.5, 1}));
}

TEST(Tflite, ActivationsAreFusedIntoJoinedAndComputedTensors) {
  const auto of = [](Code code, Fused fused) {
    TfliteFile file;
    const auto x = file.input({1, 1, 1, 3});
    const auto second = file.floats("second", {1, 1, 1, 3}, {1, -1, 1});
    if (code == Code::CONCATENATION) {
      tflite::ConcatenationOptionsT options;
      options.axis = 3;
      options.fused_activation_function = fused;
      file.output(file.add(code, {x, second}, {1, 1, 1, 6}, options));
    } else if (code == Code::SUB) {
      tflite::SubOptionsT options;
      options.fused_activation_function = fused;
      file.output(file.add(code, {x, second}, {1, 1, 1, 3}, options));
    } else {
      tflite::MulOptionsT options;
      options.fused_activation_function = fused;
      file.output(file.add(code, {x, second}, {1, 1, 1, 3}, options));
    }
    return outputs(file, {1, 1, 3, {-3, 0.5, 8}});
  };
  EXPECT_EQ(of(Code::CONCATENATION, Fused::NONE), (std::vector<double>{-3, 0.5, 8, 1, -1, 1}));
  EXPECT_EQ(of(Code::CONCATENATION, Fused::RELU6), (std::vector<double>{0, 0.5, 6, 1, 0, 1}));
  EXPECT_EQ(of(Code::SUB, Fused::RELU), (std::vector<double>{0, 1.5, 7}));
  EXPECT_EQ(of(Code::MUL, Fused::RELU6), (std::vector<double>{0, 0, 6}));
}

/// A model of one operator that takes values from -8 to 8 as they are.
TfliteFile operator_with(Code code, Fused fused) {
  TfliteFile file;
  const auto x = file.input({1, 1, 1, 3});
  const std::vector<float> unit{1, 0, 0, 0, 1, 0, 0, 0, 1};
  if (code == Code::CONV_2D) {
    file.output(file.add(code, {x, file.floats("w", {3, 1, 1, 3}, unit)}, {1, 1, 1, 3}, conv_options(1, 1, fused)));
  } else if (code == Code::DEPTHWISE_CONV_2D) {
    tflite::DepthwiseConv2DOptionsT options;
    options.stride_h = options.stride_w = 1;
    options.fused_activation_function = fused;
    file.output(file.add(code, {x, file.floats("w", {1, 1, 1, 3}, {1, 1, 1})}, {1, 1, 1, 3}, options));
  } else if (code == Code::FULLY_CONNECTED) {
    tflite::FullyConnectedOptionsT options;
    options.fused_activation_function = fused;
    file.output(file.add(code, {x, file.floats("w", {3, 3}, unit)}, {1, 3}, options));
  } else {
    tflite::Pool2DOptionsT options;
    options.stride_h = options.stride_w = options.filter_height = options.filter_width = 1;
    options.fused_activation_function = fused;
    file.output(file.add(code, {x}, {1, 1, 1, 3}, options));
  }
  return file;
}

TEST(Tflite, ActivationsAreFusedIntoWindowsAndConnectedLayers) {
  for (const Code code :
       {Code::CONV_2D, Code::DEPTHWISE_CONV_2D, Code::FULLY_CONNECTED, Code::MAX_POOL_2D, Code::AVERAGE_POOL_2D}) {
    const auto of = [&](Fused fused) { return outputs(operator_with(code, fused), {1, 1, 3, {-3, 0.5, 8}}); };
    EXPECT_EQ(of(Fused::NONE), (std::vector<double>{-3, 0.5, 8})) << tflite::EnumNameBuiltinOperator(code);
    EXPECT_EQ(of(Fused::RELU), (std::vector<double>{0, 0.5, 8})) << tflite::EnumNameBuiltinOperator(code);
    EXPECT_EQ(of(Fused::RELU6), (std::vector<double>{0, 0.5, 6})) << tflite::EnumNameBuiltinOperator(code);
  }
}

TEST(Tflite, ElementsBecomeWhatTheirOperatorSays) {
  const auto of = [](Code code, const std::vector<float>& second = {}) {
    TfliteFile file;
    std::vector<std::int32_t> inputs{file.input({1, 1, 2, 2})};
    if (!second.empty()) inputs.push_back(file.floats("c", {2}, second));
    file.output(file.add(code, inputs, {1, 1, 2, 2}));
    return outputs(file, {1, 2, 2, {-8, -0.5, 2, 7}});
  };
  EXPECT_EQ(of(Code::RELU), (std::vector<double>{0, 0, 2, 7}));
  EXPECT_EQ(of(Code::RELU6), (std::vector<double>{0, 0, 2, 6}));
  EXPECT_EQ(of(Code::RELU_N1_TO_1), (std::vector<double>{-1, -0.5, 1, 1}));
  EXPECT_EQ(of(Code::PRELU, {0.5, 2}), (std::vector<double>{-4, -1, 2, 7}));
  EXPECT_EQ(of(Code::MUL, {2, -1}), (std::vector<double>{-16, 0.5, 4, -7}));
  EXPECT_EQ(of(Code::SUB, {2, -1}), (std::vector<double>{-10, 0.5, 0, 8}));
  EXPECT_NEAR(of(Code::LOGISTIC)[2], 1 / (1 + std::exp(-2.0)), 1e-12);
  EXPECT_NEAR(of(Code::HARD_SWISH)[2], 2 * 5 / 6.0, 1e-12);
  for (const Code code : {Code::RELU, Code::RELU6, Code::RELU_N1_TO_1, Code::LOGISTIC, Code::HARD_SWISH})
    EXPECT_THROW(of(code, {1, 1}), DataError) << tflite::EnumNameBuiltinOperator(code);
}

TEST(Tflite, SoftmaxIsOfChannels) {
  TfliteFile file;
  tflite::SoftmaxOptionsT options;
  options.beta = 1;
  file.output(file.add(Code::SOFTMAX, {file.input({1, 1, 2, 2})}, {1, 1, 2, 2}, options));
  const std::vector<double> y = outputs(file, {1, 2, 2, {0, 1, 5, 5}});
  EXPECT_NEAR(y[0], 1 / (1 + std::exp(1.0)), 1e-12);
  EXPECT_NEAR(y[2], 0.5, 1e-12);
}

TEST(Tflite, AxesAreThoseOfChannelsLast) {
  const Images x{2, 2, 2, {1, 2, 3, 4, 5, 6, 7, 8}};
  {
    TfliteFile file;
    const auto input = file.input({1, 2, 2, 2});
    const auto more = file.floats("c", {1, 2, 2, 1}, {10, 20, 30, 40});
    tflite::ConcatenationOptionsT options;
    options.axis = -1;
    file.output(file.add(Code::CONCATENATION, {input, more}, {1, 2, 2, 3}, options));
    EXPECT_EQ(outputs(file, x), (std::vector<double>{1, 2, 10, 3, 4, 20, 5, 6, 30, 7, 8, 40}));
  }
  {
    TfliteFile file;
    const auto pads = file.integers("pads", {4, 2}, {0, 0, 1, 0, 0, 0, 0, 1});
    file.output(file.add(Code::PAD, {file.input({1, 2, 2, 2}), pads}, {1, 3, 2, 3}));
    EXPECT_EQ(outputs(file, x), (std::vector<double>{0, 0, 0, 0, 0, 0, 1, 2, 0, 3, 4, 0, 5, 6, 0, 7, 8, 0}));
  }
  {
    TfliteFile file;
    const auto axes = file.integers("axes", {2}, {2, -3});
    file.output(file.add(Code::MEAN, {file.input({1, 2, 2, 2}), axes}, {1, 2}));
    EXPECT_EQ(outputs(file, x), (std::vector<double>{4, 5}));
  }
  for (const bool kept : {false, true}) {
    TfliteFile file;
    tflite::ReducerOptionsT options;
    options.keep_dims = kept;
    const auto axes = file.integers("axes", {2}, {1, 2});
    file.output(
        file.add(Code::MEAN, {file.input({1, 2, 2, 2}), axes}, kept ? Shape32{1, 1, 1, 2} : Shape32{1, 2}, options));
    EXPECT_EQ(outputs(file, x), (std::vector<double>{4, 5}));
    const Model model = file.read();
    EXPECT_EQ(model.values[model.outputs.front()].shape.size(), kept ? 4U : 2U);
  }
  {
    TfliteFile file;
    const auto shape = file.integers("shape", {3}, {1, -1, 4});
    file.output(file.add(Code::RESHAPE, {file.input({1, 2, 2, 2}), shape}, {1, 2, 4}));
    EXPECT_EQ(outputs(file, x), (std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8}));
  }
  {
    TfliteFile file;
    tflite::FullyConnectedOptionsT options;
    const auto w = file.floats("w", {1, 8}, {1, 0, 0, 0, 0, 0, 100, 10});
    file.output(file.add(Code::FULLY_CONNECTED, {file.input({1, 2, 2, 2}), w}, {1, 1}, options));
    EXPECT_EQ(outputs(file, x), (std::vector<double>{1 + 700 + 80}));
  }
  {
    TfliteFile file;
    tflite::FullyConnectedOptionsT options;
    options.keep_num_dims = true;
    const auto w = file.floats("w", {1, 2}, {1, 10});
    file.output(file.add(Code::FULLY_CONNECTED, {file.input({1, 2, 2, 2}), w}, {1, 2, 2, 1}, options));
    EXPECT_EQ(outputs(file, x), (std::vector<double>{21, 43, 65, 87}));
  }
}

TEST(Tflite, ImagesWithOneChannelOrOnePixelAreReshapedWithoutTransposing) {
  struct Case {
    Shape32 from, to;
    std::size_t transposes;  ///< before an output that is an image, which becomes channels last again
  };
  for (const Case& one : {Case{{1, 2, 2, 2}, {1, 8}, 1}, Case{{1, 2, 4, 1}, {1, 8}, 0}, Case{{1, 1, 1, 8}, {1, 8}, 0},
                          Case{{1, 2, 1, 4}, {1, 8}, 1}, Case{{1, 4, 1, 2}, {1, 2, 2, 2}, 2},
                          Case{{1, 4, 2, 1}, {1, 2, 2, 2}, 1}, Case{{1, 2, 2, 2}, {1, 2, 4, 1}, 1},
                          Case{{1, 2, 2, 2}, {1, 1, 1, 8}, 1}, Case{{1, 8, 1, 1}, {1, 1, 1, 8}, 0}}) {
    TfliteFile file;
    const auto shape = file.integers("shape", {static_cast<std::int32_t>(one.to.size())}, one.to);
    file.output(file.add(Code::RESHAPE, {file.input(one.from), shape}, one.to));
    const auto extent = [](const Shape32& of, std::size_t axis) { return static_cast<std::size_t>(of[axis]); };
    const Images x{extent(one.from, 1), extent(one.from, 2), extent(one.from, 3), {1, 2, 3, 4, 5, 6, 7, 8}};
    EXPECT_EQ(outputs(file, x), std::vector<double>(x.values.begin(), x.values.end()));
    const Model model = file.read();
    EXPECT_EQ(std::ranges::count_if(model.nodes,
                                    [](const Node& node) { return std::holds_alternative<Transpose>(node.operation); }),
              one.transposes + (one.to.size() == 4 ? 1 : 0))
        << ::testing::PrintToString(one.from) << " to " << ::testing::PrintToString(one.to);
  }
}

TEST(Tflite, ImagesAreResized) {
  const auto of = [](Code code, bool corners, bool half) {
    TfliteFile file;
    const auto size = file.integers("size", {2}, {1, 4});
    const auto x = file.input({1, 1, 2, 1});
    if (code == Code::RESIZE_BILINEAR) {
      tflite::ResizeBilinearOptionsT options;
      options.align_corners = corners;
      options.half_pixel_centers = half;
      file.output(file.add(code, {x, size}, {1, 1, 4, 1}, options));
    } else {
      tflite::ResizeNearestNeighborOptionsT options;
      options.align_corners = corners;
      options.half_pixel_centers = half;
      file.output(file.add(code, {x, size}, {1, 1, 4, 1}, options));
    }
    return outputs(file, {1, 2, 1, {0, 12}});
  };
  EXPECT_EQ(of(Code::RESIZE_BILINEAR, false, false), (std::vector<double>{0, 6, 12, 12}));
  EXPECT_EQ(of(Code::RESIZE_BILINEAR, false, true), (std::vector<double>{0, 3, 9, 12}));
  EXPECT_NEAR(of(Code::RESIZE_BILINEAR, true, false)[1], 4, 1e-6);
  EXPECT_EQ(of(Code::RESIZE_NEAREST_NEIGHBOR, false, false), (std::vector<double>{0, 0, 12, 12}));
  EXPECT_EQ(of(Code::RESIZE_NEAREST_NEIGHBOR, true, false), (std::vector<double>{0, 0, 12, 12}));
}

TEST(Tflite, DepthBecomesSpace) {
  TfliteFile file;
  tflite::DepthToSpaceOptionsT options;
  options.block_size = 2;
  file.output(file.add(Code::DEPTH_TO_SPACE, {file.input({1, 1, 2, 8})}, {1, 2, 4, 2}, options));
  const Images x{1, 2, 8, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}};
  EXPECT_EQ(outputs(file, x), (std::vector<double>{0, 1, 2, 3, 8, 9, 10, 11, 4, 5, 6, 7, 12, 13, 14, 15}));
}

TEST(Tflite, SparseFiltersAreReadAsSuch) {
  // Rows of filters: (0, 1.5, 0), (2, 0, -1); halves by their bits.
  TfliteFile file;
  const auto w = file.halves("w", {2, 1, 1, 3}, {0x3e00, 0x4000, 0xbc00});
  file.graph().tensors.back()->sparsity = csr({2, 1, 1, 3}, {0, 1, 3}, {1, 0, 2});
  const auto dense = file.add(Code::DENSIFY, {w}, {2, 1, 1, 3});
  const auto widened = file.add(Code::DEQUANTIZE, {dense}, {2, 1, 1, 3});
  const auto x = file.input({1, 1, 1, 3});
  file.output(file.add(Code::CONV_2D, {x, widened}, {1, 1, 1, 2}, conv_options(1, 1)));
  EXPECT_EQ(outputs(file, {1, 1, 3, {1, 10, 100}}), (std::vector<double>{15, -98}));
  const Model model = file.read();
  EXPECT_EQ(std::get<Convolution>(model.nodes.at(0).operation).weights->entries(), 3U);
  EXPECT_EQ(std::get<Convolution>(model.nodes.at(0).operation).weights.form(), "dense f16");
}

/// 0, 5, 0 and -7, of which the zeros are left out.
std::int32_t sparse_numbers(TfliteFile& file, const Shape32& shape) {
  const auto id = file.floats("w", shape, {5, -7});
  file.graph().tensors.back()->sparsity =
      shape.size() == 1 ? csr(shape, {0, 2}, {1, 3}) : csr(shape, {0, 1, 2}, {1, 1});
  return id;
}

TEST(Tflite, SparseConstantsOfAnyUseAreTheirDenseSelves) {
  for (const auto& [code, expected] : {std::pair{Code::ADD, std::vector<double>{-1, 4, -1, -8}},
                                       {Code::MUL, {0, -5, 0, 7}},
                                       {Code::PRELU, {0, -5, 0, 7}}}) {
    TfliteFile file;
    const auto w = sparse_numbers(file, {4});
    file.output(file.add(code, {file.input({1, 4}), w}, {1, 4}));
    EXPECT_EQ(evaluate(file.read(), {Tensor{{1, 4}, std::vector<float>(4, -1)}}).at(0).values, expected)
        << static_cast<int>(code);
  }
  TfliteFile biased;
  const auto identity = biased.floats("identity", {4, 1}, {1, 1, 1, 1});
  const auto bias = sparse_numbers(biased, {4});
  biased.output(biased.add(Code::FULLY_CONNECTED, {biased.input({1, 1}), identity, bias}, {1, 4},
                           tflite::FullyConnectedOptionsT()));
  EXPECT_EQ(evaluate(biased.read(), {Tensor{{1, 1}, std::vector<float>{100}}}).at(0).values,
            (std::vector<double>{100, 105, 100, 93}));
}

TEST(Tflite, IndicesOfSparseWeightsHaveAnyOfThreeTypes) {
  const auto outputs_with = [](auto segments, auto indices) {
    TfliteFile file;
    const auto w = file.floats("w", {2, 300}, {1, 2, 3});
    auto sparsity = csr({2, 300}, {}, {});
    segments.values = {0, 1, 3};
    indices.values = {7, 0, 250};
    sparsity->dim_metadata.back()->array_segments.Set(segments);
    sparsity->dim_metadata.back()->array_indices.Set(indices);
    file.graph().tensors.back()->sparsity = std::move(sparsity);
    const auto x = file.input({1, 300});
    file.output(file.add(Code::FULLY_CONNECTED, {x, w}, {1, 2}, tflite::FullyConnectedOptionsT()));
    return evaluate(file.read(), {Tensor{{1, 300}, numbers(300)}}).at(0).values;
  };
  const std::vector<float> x = numbers(300);
  const std::vector<double> expected{x[7], 2 * x[0] + 3 * x[250]};
  EXPECT_EQ(outputs_with(tflite::Uint8VectorT(), tflite::Uint8VectorT()), expected);
  EXPECT_EQ(outputs_with(tflite::Uint16VectorT(), tflite::Int32VectorT()), expected);
  EXPECT_EQ(outputs_with(tflite::Int32VectorT(), tflite::Uint16VectorT()), expected);
}

TEST(Tflite, AnOldFileHasItsOperatorsInTheShortCode) {
  TfliteFile file;
  file.output(file.add(Code::NEG, {file.input({1, 2})}, {1, 2}));
  file.model.operator_codes[0]->builtin_code = Code::ADD;  // 0, as if it were absent
  file.model.operator_codes[0]->short_code = static_cast<std::int8_t>(Code::NEG);
  EXPECT_EQ(evaluate(file.read(), {Tensor{{1, 2}, std::vector<float>{3, -4}}})[0].values, (std::vector<double>{-3, 4}));
}

TEST(Tflite, WhatNoOutputReadsIsLeftOutAndNamesAreKept) {
  TfliteFile file;
  const auto x = file.input({1, 2});
  file.add(Code::NEG, {x}, {1, 2});
  file.output(file.add(Code::ABS, {x}, {1, 2}));
  const Model model = file.read();
  EXPECT_EQ(model.name, "main");
  ASSERT_EQ(model.nodes.size(), 1U);
  EXPECT_EQ(model.nodes[0].name, "y1");
  EXPECT_EQ(model.values[model.inputs[0]].name, "x");
}

TEST(Tflite, BlocksOfSparseWeightsHaveTheirPlace) {
  TfliteFile file;
  const auto w = file.floats("w", {2, 4}, {3, 4, 5, 6});
  file.graph().tensors.back()->sparsity = two_blocks();
  file.output(file.add(Code::FULLY_CONNECTED, {file.input({1, 1, 1, 4}), w}, {1, 2}, tflite::FullyConnectedOptionsT()));
  EXPECT_EQ(outputs(file, {1, 1, 4, {1, 10, 100, 1000}}), (std::vector<double>{4300, 65}));
}

TEST(Tflite, ABatchOfAnyLengthIsGivenOrStated) {
  TfliteFile file;
  const auto x = file.input({1, 2, 2, 1});
  const auto shape = file.integers("shape", {2}, {1, 4});
  file.output(file.add(Code::RESHAPE, {x, shape}, {1, 4}));
  EXPECT_EQ(file.read().values.at(0).shape, (Shape{1, 1, 2, 2}));
  const Model given = file.read(Shape{kBatchExtent, 1, 2, 2});
  EXPECT_EQ(given.values.at(given.outputs.at(0)).shape, (Shape{kBatchExtent, 4}));
  file.graph().tensors[0]->shape_signature = {-1, 2, 2, 1};
  const Model stated = file.read();
  EXPECT_EQ(stated.values.at(stated.outputs.at(0)).shape, (Shape{kBatchExtent, 4}));
  EXPECT_EQ(tflite_test::refusal(file, Shape{1, 1, 3, 2}),
            "shape: 1 x 1 x 3 x 2, but axis 2 of the input has the length 2");
  EXPECT_EQ(tflite_test::refusal(file, Shape{1, 1, 2}), "shape: 1 x 1 x 2 for an input of 4 axes");
  EXPECT_EQ(tflite_test::refusal(file, Shape{0, 1, 2, 2}), "shape: 0 x 1 x 2 x 2, expected lengths of 1..2147483647");
  EXPECT_EQ(tflite_test::refusal(file, Shape{1, -1, 2, 2}), "shape: 1 x N x 2 x 2, expected lengths of 1..2147483647");
}

TEST(Tflite, AGivenShapeFillsOpenAxesOfTheOnlyInput) {
  TfliteFile file;
  const auto x = file.input({1, 2, 2, 1});
  file.graph().tensors[0]->shape_signature = {1, -1, -1, 1};
  file.output(file.add(Code::NEG, {x}, {}));
  EXPECT_EQ(file.read(Shape{3, 1, 5, 4}).values.at(0).shape, (Shape{3, 1, 5, 4}));
  EXPECT_EQ(tflite_test::refusal(file, Shape{3, 2, 5, 4}),
            "shape: 3 x 2 x 5 x 4, but axis 1 of the input has the length 1");
  file.graph().inputs.push_back(file.tensor("z", {1, 2}));
  EXPECT_EQ(tflite_test::refusal(file, Shape{3, 1, 5, 4}),
            "shape: a shape can be given only for a single input, and the model has 2 inputs");
}

}  // namespace
}  // namespace spdnn
