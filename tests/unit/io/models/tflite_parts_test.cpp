// Results of TensorFlow Lite's operators that take parts of a value, transposed convolutions, and functions.

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <numeric>

#include "model/oracle/evaluate.hpp"
#include "support/tflite_file.hpp"

namespace spdnn {
namespace {

using tflite_test::Code;
using tflite_test::expect_part;
using tflite_test::refusal;
using tflite_test::Shape32;
using Parts = tflite_test::File;
using Numbers = std::vector<double>;

/// The images N x H x W x C of one image count from 0; the model's input is N x C x H x W.
Tensor counted_images(Extent height, Extent width, Extent channels) {
  std::vector<float> values;
  for (Extent c = 0; c < channels; ++c)
    for (Extent p = 0; p < height * width; ++p) values.push_back(static_cast<float>(p * channels + c));
  return {{1, channels, height, width}, std::move(values)};
}

std::vector<Numbers> outcomes(const Parts& file, const Tensor& images) {
  std::vector<Numbers> all;
  for (const Bounded& output : evaluate(file.read(), {images})) all.push_back(output.values);
  return all;
}

TEST(TfliteParts, Slices) {
  Parts file;
  const std::int32_t x = file.input({1, 2, 3, 2});
  const std::int32_t begin = file.integers("begin", {4}, {0, 1, 0, 1});
  const std::int32_t size = file.integers("size", {4}, {1, 1, -1, 1});
  file.output(file.add(Code::SLICE, {x, begin, size}, {1, 1, 3, 1}));
  EXPECT_EQ(outcomes(file, counted_images(2, 3, 2)), (std::vector<Numbers>{{7, 9, 11}}));
  const auto beyond = [&](const std::vector<std::int32_t>& from, const std::vector<std::int32_t>& length) {
    Parts other;
    const std::int32_t input = other.input({1, 2, 3, 2});
    other.output(other.add(Code::SLICE, {input, other.integers("b", {4}, from), other.integers("s", {4}, length)}, {}));
    return refusal(other);
  };
  expect_part(beyond({0, 1, 0, 0}, {1, 2, 3, 2}), "(SLICE): the elements 1 to 3 of axis 1 with 2");
  expect_part(beyond({0, 0, 0, 0}, {1, 0, 3, 2}), "(SLICE): the elements 0 to 0 of axis 1 with 2");
  file.last().inputs[1] = file.integers("five", {5}, {0, 1, 0, 1, 0});
  expect_part(refusal(file), "(SLICE): input 1 'five': 5 numbers for 4 axes");
}

/// One operator on images of 1 x 2 x 2 x 4, and why it is refused.
using MakeOperator = std::int32_t (*)(Parts& file, std::int32_t x);

std::vector<float> all_ones(std::size_t count) { return std::vector<float>(count, 1); }

template <class Options>
Options with(void (*set)(Options&)) {
  Options options;
  if constexpr (requires { options.stride_h; }) options.stride_h = options.stride_w = 1;
  set(options);
  return options;
}

std::int32_t strided(Parts& file, std::int32_t x, std::int32_t step, const tflite::StridedSliceOptionsT& options) {
  return file.add(Code::STRIDED_SLICE,
                  {x, file.integers("b", {1}, {0}), file.integers("e", {1}, {1}), file.integers("s", {1}, {step})}, {},
                  options);
}

std::int32_t bilinear(Parts& file, std::int32_t x, bool align_corners, bool half_pixel) {
  tflite::ResizeBilinearOptionsT options;
  options.align_corners = align_corners;
  options.half_pixel_centers = half_pixel;
  return file.add(Code::RESIZE_BILINEAR, {x, file.integers("size", {2}, {4, 4})}, {}, options);
}

TEST(TfliteParts, WhatDoesNotFitIsRefusedInItsWords) {
  const std::pair<const char*, MakeOperator> cases[] = {
      {"(CONV_2D): input 1 'w': filters of 2 channels do not fit 4 channels",
       [](Parts& f, std::int32_t x) {
         return f.add(Code::CONV_2D, {x, f.floats("w", {3, 1, 1, 2}, all_ones(6))}, {},
                      with<tflite::Conv2DOptionsT>([](auto&) {}));
       }},
      {"(CONV_2D): input 2 'b': its shape is 3; expected 2 numbers",
       [](Parts& f, std::int32_t x) {
         return f.add(Code::CONV_2D, {x, f.floats("w", {2, 1, 1, 4}, all_ones(8)), f.floats("b", {3}, all_ones(3))}, {},
                      with<tflite::Conv2DOptionsT>([](auto&) {}));
       }},
      {"filters of 2 x 1 x 1 x 4 do not fit 4 channels",
       [](Parts& f, std::int32_t x) {
         return f.add(Code::DEPTHWISE_CONV_2D, {x, f.floats("w", {2, 1, 1, 4}, all_ones(8))}, {},
                      with<tflite::DepthwiseConv2DOptionsT>([](auto&) {}));
       }},
      {"depth_multiplier 3, expected 1",
       [](Parts& f, std::int32_t x) {
         return f.add(Code::DEPTHWISE_CONV_2D, {x, f.floats("w", {1, 1, 1, 4}, all_ones(4))}, {},
                      with<tflite::DepthwiseConv2DOptionsT>([](auto& o) { o.depth_multiplier = 3; }));
       }},
      {"filters of 2 x 1 x 1 x 3 do not fit 4 channels",
       [](Parts& f, std::int32_t x) {
         const std::int32_t shape = f.integers("shape", {4}, {1, 2, 2, 2});
         return f.add(Code::TRANSPOSE_CONV, {shape, f.floats("w", {2, 1, 1, 3}, all_ones(6)), x}, {},
                      with<tflite::TransposeConvOptionsT>([](auto&) {}));
       }},
      {"weights_format is not supported",
       [](Parts& f, std::int32_t x) {
         return f.add(Code::FULLY_CONNECTED, {x, f.floats("w", {2, 16}, all_ones(32))}, {},
                      with<tflite::FullyConnectedOptionsT>(
                          [](auto& o) { o.weights_format = tflite::WeightsFormat::SHUFFLED4x16INT8; }));
       }},
      {"weights of 5 inputs do not fit 1 x 4 x 2 x 2",
       [](Parts& f, std::int32_t x) {
         return f.add(Code::FULLY_CONNECTED, {x, f.floats("w", {2, 5}, all_ones(10))}, {},
                      with<tflite::FullyConnectedOptionsT>([](auto&) {}));
       }},
      {"beta 2 is not supported, only 1",
       [](Parts& f, std::int32_t x) {
         return f.add(Code::SOFTMAX, {x}, {}, with<tflite::SoftmaxOptionsT>([](auto& o) { o.beta = 2; }));
       }},
      {"(STRIDED_SLICE): input 3 's': a step of 0 is not supported",
       [](Parts& f, std::int32_t x) { return strided(f, x, 0, {}); }},
      {"ellipsis_mask, new_axis_mask and offset are not supported",
       [](Parts& f, std::int32_t x) {
         return strided(f, x, 1, with<tflite::StridedSliceOptionsT>([](auto& o) { o.offset = true; }));
       }},
      {"(MIRROR_PAD): input 1 'p': padding of 0 and 2 around 2 elements",
       [](Parts& f, std::int32_t x) {
         return f.add(Code::MIRROR_PAD, {x, f.integers("p", {4, 2}, {0, 0, 0, 2, 0, 0, 0, 0})}, {},
                      with<tflite::MirrorPadOptionsT>([](auto&) {}));
       }},
      {"align_corners and half_pixel_centers exclude each other",
       [](Parts& f, std::int32_t x) { return bilinear(f, x, true, true); }},
      {"(CONCATENATION): axis 4 is outside the 4 axes",
       [](Parts& f, std::int32_t x) {
         return f.add(Code::CONCATENATION, {x, x}, {},
                      with<tflite::ConcatenationOptionsT>([](auto& o) { o.axis = 4; }));
       }},
      {"the new shape has lengths outside 1..2147483647, or more than one -1",
       [](Parts& f, std::int32_t x) {
         return f.add(Code::RESHAPE, {x, f.integers("to", {3}, {1, -1, -1})}, {});
       }},
      {"block_size 2 does not divide 2 x 1 pixels",
       [](Parts& f, std::int32_t /*x*/) {
         return f.add(Code::SPACE_TO_DEPTH, {f.input({1, 2, 1, 1})}, {},
                      with<tflite::SpaceToDepthOptionsT>([](auto& o) { o.block_size = 2; }));
       }},
      {"block_size 2 does not divide 2 channels",
       [](Parts& f, std::int32_t /*x*/) {
         return f.add(Code::DEPTH_TO_SPACE, {f.input({1, 2, 2, 2})}, {},
                      with<tflite::DepthToSpaceOptionsT>([](auto& o) { o.block_size = 2; }));
       }},
      {"slopes of shape 2 x 4 are not supported",
       [](Parts& f, std::int32_t x) {
         return f.add(Code::PRELU, {x, f.floats("a", {2, 4}, all_ones(8))}, {});
       }},
      {"17 numbers are more than 16",
       [](Parts& f, std::int32_t x) {
         return f.add(Code::RESHAPE, {x, f.integers("to", {17}, std::vector<std::int32_t>(17, 1))}, {});
       }},
      {"8 bytes are not 3 numbers",
       [](Parts& f, std::int32_t x) {
         const std::int32_t to = f.integers("to", {2}, {4, 4});
         f.model.subgraphs[0]->tensors[static_cast<std::size_t>(to)]->shape = {3};
         return f.add(Code::RESHAPE, {x, to}, {});
       }},
  };
  for (const auto& [why, make] : cases) {
    Parts file;
    const std::int32_t x = file.input({1, 2, 2, 4});
    file.output(make(file, x));
    expect_part(refusal(file), why);
  }
}

TEST(TfliteParts, ALengthOfMinusOneReachesToTheEndFromAnyBeginning) {
  Parts file;
  const std::int32_t x = file.input({1, 2, 3, 2});
  const std::int32_t begin = file.integers("begin", {4}, {0, 0, 1, 0});
  file.output(file.add(Code::SLICE, {x, begin, file.integers("size", {4}, {1, 1, -1, 1})}, {1, 1, 2, 1}));
  EXPECT_EQ(outcomes(file, counted_images(2, 3, 2)), (std::vector<Numbers>{{2, 4}}));
}

TEST(TfliteParts, AnOutputThatIsNamedTwiceIsTwoValues) {
  Parts file;
  const std::int32_t y = file.add(Code::NEG, {file.input({1, 2})}, {1, 2});
  const Model model = file.output(y).output(y).read();
  ASSERT_EQ(model.outputs.size(), 2U);
  EXPECT_NE(model.outputs[0], model.outputs[1]);
  EXPECT_EQ(outcomes(file, {{1, 2}, std::vector<float>{3, -4}}), (std::vector<Numbers>{{-3, 4}, {-3, 4}}));
}

TEST(TfliteParts, StridedSlices) {
  const auto sliced = [](const std::vector<std::int32_t>& begin, const std::vector<std::int32_t>& end,
                         const std::vector<std::int32_t>& steps, tflite::StridedSliceOptionsT options = {}) {
    Parts file;
    const std::int32_t x = file.input({1, 2, 5, 1});
    const auto count = static_cast<std::int32_t>(begin.size());
    const std::vector<std::int32_t> inputs{x, file.integers("b", {count}, begin), file.integers("e", {count}, end),
                                           file.integers("s", {count}, steps)};
    file.output(file.add(Code::STRIDED_SLICE, inputs, {}, options));
    return file;
  };
  const auto of = [&](const auto&... arguments) { return outcomes(sliced(arguments...), counted_images(2, 5, 1))[0]; };
  using List = std::vector<std::int32_t>;
  EXPECT_EQ(of(List{0, 0, 0}, List{1, 2, 5}, List{1, 1, 2}), (Numbers{0, 2, 4, 5, 7, 9}));
  EXPECT_EQ(of(List{0, -1, -3}, List{1, 9, -1}, List{1, 1, 1}), (Numbers{7, 8}));
  tflite::StridedSliceOptionsT masks;
  masks.begin_mask = 4;
  masks.end_mask = 2;
  EXPECT_EQ(of(List{0, 1, 3}, List{1, 0, 2}, List{1, 1, 1}, masks), (Numbers{5, 6}));
  tflite::StridedSliceOptionsT single;
  single.shrink_axis_mask = 2;
  EXPECT_EQ(of(List{0, 1, 0}, List{1, 0, 5}, List{1, 1, 4}, single), (Numbers{5, 9}));
  EXPECT_EQ(sliced({0, 1, 0}, {1, 2, 5}, {1, 1, 4}, single).read().values.back().shape, (Shape{1, 2, 1}));
  expect_part(refusal(sliced({0, 0, 4}, {1, 2, 0}, {1, 1, -1})), "a step of -1 is not supported");
  tflite::StridedSliceOptionsT ellipsis;
  ellipsis.ellipsis_mask = 1;
  expect_part(refusal(sliced({0}, {1}, {1}, ellipsis)), "ellipsis_mask, new_axis_mask and offset are not supported");
}

TEST(TfliteParts, SplitsHaveSeveralOutputs) {
  Parts file;
  const std::int32_t axis = file.integers("axis", {}, {-1});
  const std::int32_t x = file.input({1, 1, 2, 4});
  const std::int32_t first = file.add(Code::SPLIT, {axis, x}, {1, 1, 2, 2});
  const std::int32_t second = file.tensor("second", {1, 1, 2, 2});
  file.last().outputs.push_back(second);
  file.output(first).output(second);
  EXPECT_EQ(outcomes(file, counted_images(1, 2, 4)), (std::vector<Numbers>{{0, 1, 4, 5}, {2, 3, 6, 7}}));
  file.last().outputs.push_back(file.tensor("third", {1, 1, 2, 1}));
  expect_part(refusal(file), "(SPLIT): 4 elements of axis 3 for 3 outputs");
}

TEST(TfliteParts, AxesOfLengthOneComeAndGo) {
  Parts file;
  const std::int32_t x = file.input({1, 2, 1, 3});
  tflite::SqueezeOptionsT options;
  options.squeeze_dims = {2};
  const std::int32_t flat = file.add(Code::SQUEEZE, {x}, {1, 2, 3}, options);
  file.output(flat).output(file.add(Code::EXPAND_DIMS, {flat, file.integers("axis", {}, {-1})}, {1, 2, 3, 1}));
  const std::vector<Bounded> both = evaluate(file.read(), {counted_images(2, 1, 3)});
  EXPECT_EQ(both[0].shape, (Shape{1, 2, 3}));
  EXPECT_EQ(both[0].values, (Numbers{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(both[1].shape, (Shape{1, 2, 3, 1}));
  EXPECT_EQ(both[1].values, (Numbers{0, 1, 2, 3, 4, 5}));
  file.graph().operators[0]->builtin_options.AsSqueezeOptions()->squeeze_dims = {1};
  expect_part(refusal(file), "(SQUEEZE): axis 1 has the length 2, expected 1");
}

TEST(TfliteParts, ASqueezeThatNamesNoAxisTakesAllOfLengthOne) {
  for (const bool says_so : {false, true}) {
    Parts file;
    const std::int32_t x = file.input({2, 1, 1, 3});
    file.output(says_so ? file.add(Code::SQUEEZE, {x}, {2, 3}, tflite::SqueezeOptionsT{})
                        : file.add(Code::SQUEEZE, {x}, {2, 3}));
    const Tensor images{{2, 3, 1, 1}, std::vector<float>{0, 1, 2, 3, 4, 5}};
    const Bounded flat = evaluate(file.read(), {images})[0];
    EXPECT_EQ(flat.shape, (Shape{2, 3}));
    EXPECT_EQ(flat.values, (Numbers{0, 1, 2, 3, 4, 5}));
  }
}

TEST(TfliteParts, AnOpenBatchStaysAhead) {
  Parts file;
  const std::int32_t x = file.input({1, 2, 1, 3});
  file.graph().tensors[0]->shape_signature = {-1, 2, 1, 3};
  file.output(file.add(Code::EXPAND_DIMS, {x, file.integers("axis", {}, {0})}, {1, 1, 2, 1, 3}));
  expect_part(refusal(file), "(EXPAND_DIMS): the batch becomes axis 1; give it a fixed size");
}

TEST(TfliteParts, MirroredPadding) {
  const auto padded = [](tflite::MirrorPadMode mode, std::int32_t before) {
    Parts file;
    const std::int32_t x = file.input({1, 1, 3, 1});
    tflite::MirrorPadOptionsT options;
    options.mode = mode;
    const std::int32_t pads = file.integers("pads", {4, 2}, {0, 0, 0, 0, before, 1, 0, 0});
    file.output(file.add(Code::MIRROR_PAD, {x, pads}, {1, 1, before + 4, 1}, options));
    return file;
  };
  const Tensor row = counted_images(1, 3, 1);
  EXPECT_EQ(outcomes(padded(tflite::MirrorPadMode::REFLECT, 2), row)[0], (Numbers{2, 1, 0, 1, 2, 1}));
  EXPECT_EQ(outcomes(padded(tflite::MirrorPadMode::SYMMETRIC, 3), row)[0], (Numbers{2, 1, 0, 0, 1, 2, 2}));
  expect_part(refusal(padded(tflite::MirrorPadMode::REFLECT, 3)), "padding of 3 and 1 around 3 elements");
}

TEST(TfliteParts, SpaceBecomesDepthAndBack) {
  Parts file;
  const std::int32_t x = file.input({1, 2, 4, 1});
  tflite::SpaceToDepthOptionsT options;
  options.block_size = 2;
  const std::int32_t deep = file.add(Code::SPACE_TO_DEPTH, {x}, {1, 1, 2, 4}, options);
  tflite::DepthToSpaceOptionsT back;
  back.block_size = 2;
  file.output(deep).output(file.add(Code::DEPTH_TO_SPACE, {deep}, {1, 2, 4, 1}, back));
  EXPECT_EQ(outcomes(file, counted_images(2, 4, 1)),
            (std::vector<Numbers>{{0, 1, 4, 5, 2, 3, 6, 7}, {0, 1, 2, 3, 4, 5, 6, 7}}));
}

/// A transposed convolution by scattering: pixel (h, w) adds to the outputs from (stride h, stride w) on, less the
/// padding.
Numbers scattered_sums(const Tensor& x, const std::vector<float>& w, Extent kernel, Extent stride, Extent outputs,
                       Extent height, Extent width, Extent padding) {
  Numbers y(static_cast<std::size_t>(height * width * outputs), 0);
  const Extent channels = x.shape[1];
  for (Extent c = 0; c < channels; ++c)
    for (Extent h = 0; h < x.shape[2]; ++h)
      for (Extent v = 0; v < x.shape[3]; ++v)
        for (Extent o = 0; o < outputs; ++o)
          for (Extent r = 0; r < kernel; ++r)
            for (Extent s = 0; s < kernel; ++s) {
              const Extent p = h * stride + r - padding;
              const Extent q = v * stride + s - padding;
              if (p < 0 || q < 0 || p >= height || q >= width) continue;
              const auto from = static_cast<std::size_t>((c * x.shape[2] + h) * x.shape[3] + v);
              const auto weight = static_cast<std::size_t>(((o * kernel + r) * kernel + s) * channels + c);
              y[static_cast<std::size_t>((p * width + q) * outputs + o)] += double{x.values[from]} * w[weight];
            }
  return y;
}

std::vector<float> weights_of(std::size_t count) {
  std::vector<float> weights(count);
  for (std::size_t i = 0; i < count; ++i) weights[i] = static_cast<float>(i * 7 % 11) - 5;
  return weights;
}

TEST(TfliteTransposed, ConvolutionsScatter) {
  const Tensor x = counted_images(2, 3, 2);
  const std::vector<float> w = weights_of(std::size_t{3} * 3 * 3 * 2);
  for (const bool same : {true, false}) {
    Parts file;
    const Shape32 made{1, same ? 4 : 5, same ? 6 : 7, 3};
    const std::int32_t input = file.input({1, 2, 3, 2});
    const std::int32_t shape = file.integers("shape", {4}, made);
    tflite::TransposeConvOptionsT options;
    options.padding = same ? tflite::Padding::SAME : tflite::Padding::VALID;
    options.stride_h = options.stride_w = 2;
    file.output(file.add(Code::TRANSPOSE_CONV, {shape, file.floats("w", {3, 3, 3, 2}, w), input}, made, options));
    EXPECT_EQ(outcomes(file, x)[0], scattered_sums(x, w, 3, 2, 3, made[1], made[2], 0)) << same;
  }
}

TEST(TfliteTransposed, CustomOnesHaveABias) {
  const auto made_by = [](const std::vector<std::int32_t>& options) {
    Parts file;
    const std::int32_t x = file.input({1, 2, 2, 1});
    const std::int32_t w = file.floats("w", {2, 2, 2, 1}, weights_of(8));
    file.output(file.add(Code::CUSTOM, {x, w, file.floats("b", {2}, {100, 200})}, {1, 4, 4, 2}));
    file.model.operator_codes[0]->custom_code = "Convolution2DTransposeBias";
    file.last().custom_options.resize(options.size() * sizeof(std::int32_t));
    std::memcpy(file.last().custom_options.data(), options.data(), file.last().custom_options.size());
    return file;
  };
  const Tensor x = counted_images(2, 2, 1);
  Numbers expected = scattered_sums(x, weights_of(8), 2, 2, 2, 4, 4, 0);
  for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += i % 2 == 0 ? 100 : 200;
  EXPECT_EQ(outcomes(made_by({1, 2, 2}), x)[0], expected);
  EXPECT_EQ(outcomes(made_by({2, 2, 2}), x)[0], expected);
  // Its strides are across, then down; an output as small as the filters allow, or as many strides as there are pixels.
  for (const auto& [options, height, width] : {std::tuple{std::vector{2, 1, 3}, 5, 3}, {std::vector{1, 1, 3}, 6, 2}}) {
    Parts strided = made_by(options);
    strided.model.subgraphs[0]->tensors[static_cast<std::size_t>(strided.last().outputs[0])]->shape = {1, height, width,
                                                                                                       2};
    EXPECT_EQ(strided.read().values.back().shape, (Shape{1, height, width, 2}));
  }
  expect_part(refusal(made_by({3, 2, 2})), "padding 3 is neither 1 (SAME) nor 2 (VALID)");
  expect_part(refusal(made_by({1, 2})), "8 bytes of options, expected 12");
}

TEST(TfliteFunctions, ByHand) {
  const auto of = [](Code code, const std::vector<float>& x) {
    Parts file;
    const auto count = static_cast<std::int32_t>(x.size());
    file.output(file.add(code, {file.input({1, count})}, {1, count}));
    return evaluate(file.read(), {Tensor{{1, Extent{count}}, x}})[0].values;
  };
  EXPECT_EQ(of(Code::ABS, {-2, 3}), (Numbers{2, 3}));
  EXPECT_EQ(of(Code::NEG, {-2, 3}), (Numbers{2, -3}));
  EXPECT_EQ(of(Code::SQUARE, {-2, 3}), (Numbers{4, 9}));
  EXPECT_EQ(of(Code::SQRT, {4}), (Numbers{2}));
  EXPECT_EQ(of(Code::RSQRT, {4}), (Numbers{0.5}));
  EXPECT_EQ(of(Code::EXP, {1}), (Numbers{std::exp(1.0)}));
  EXPECT_EQ(of(Code::LOG, {2}), (Numbers{std::log(2.0)}));
  EXPECT_EQ(of(Code::TANH, {0.5}), (Numbers{std::tanh(0.5)}));
  EXPECT_EQ(of(Code::ELU, {-1, 2}), (Numbers{std::expm1(-1.0), 2}));
  const auto two = [](Code code) {
    Parts file;
    const std::int32_t x = file.input({1, 2});
    file.output(file.add(code, {x, file.floats("c", {2}, {2, -3})}, {1, 2}));
    return evaluate(file.read(), {Tensor{{1, 2}, std::vector<float>{3, -4}}})[0].values;
  };
  EXPECT_EQ(two(Code::MAXIMUM), (Numbers{3, -3}));
  EXPECT_EQ(two(Code::MINIMUM), (Numbers{2, -4}));
  EXPECT_EQ(two(Code::DIV), (Numbers{1.5, 4.0 / 3}));
  EXPECT_EQ(two(Code::POW), (Numbers{9, -1.0 / 64}));
  Parts leaky;
  tflite::LeakyReluOptionsT options;
  options.alpha = 0.25F;
  leaky.output(leaky.add(Code::LEAKY_RELU, {leaky.input({1, 2})}, {1, 2}, options));
  EXPECT_EQ(evaluate(leaky.read(), {Tensor{{1, 2}, std::vector<float>{-4, 4}}})[0].values, (Numbers{-1, 4}));
  leaky.graph().operators[0]->builtin_options.AsLeakyReluOptions()->alpha = NAN;
  expect_part(refusal(leaky), "(LEAKY_RELU): alpha nan is not finite");
}

}  // namespace
}  // namespace spdnn
