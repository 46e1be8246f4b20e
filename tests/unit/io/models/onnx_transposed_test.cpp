// ConvTranspose and ReduceMean of ONNX files, which become convolutions, means and moves of elements, against loops
// that follow the operators' text.

#include <gtest/gtest.h>

#include <algorithm>

#include "model/oracle/evaluate.hpp"
#include "support/models.hpp"
#include "support/onnx_file.hpp"

namespace spdnn {
namespace {

using onnx_test::File;
using onnx_test::refusal;
using onnx_test::set;
using testing::Rng;
using Integers = std::vector<std::int64_t>;

/// A node ConvTranspose on images, each pair of numbers being of H and W.
struct Transposed {
  Extent channels = 4;
  Extent outputs = 3;  ///< of a group
  Extent groups = 1;
  Integers size{3, 4};
  Integers kernel{3, 2};
  Integers stride{1, 1};
  Integers dilation{1, 1};
  Integers pads{0, 0, 0, 0};
  Integers added{0, 0};

  Extent length(std::size_t axis) const {
    return stride[axis] * (size[axis] - 1) + added[axis] + dilation[axis] * (kernel[axis] - 1) + 1 - pads[axis] -
           pads[axis + 2];
  }
};

/// y(n,k,h stride + r dilation - pad) += w(c,k,r) x(n,c,h), for each c of the group of k.
std::vector<double> scattered(const Transposed& one, const Tensor& x, const std::vector<float>& w,
                              const std::vector<float>& bias) {
  const Extent height = one.length(0);
  const Extent width = one.length(1);
  const Extent all = one.outputs * one.groups;
  std::vector<double> y(static_cast<std::size_t>(x.shape[0] * all * height * width));
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = bias[i / static_cast<std::size_t>(height * width) % bias.size()];
  std::size_t pixel = 0;
  for (Extent n = 0; n < x.shape[0]; ++n)
    for (Extent c = 0; c < one.channels; ++c)
      for (Extent h = 0; h < one.size[0]; ++h)
        for (Extent q = 0; q < one.size[1]; ++q, ++pixel) {
          std::size_t weight = static_cast<std::size_t>(c * one.outputs * one.kernel[0] * one.kernel[1]);
          const Extent first = c / (one.channels / one.groups) * one.outputs;
          for (Extent k = first; k < first + one.outputs; ++k)
            for (Extent r = 0; r < one.kernel[0]; ++r)
              for (Extent s = 0; s < one.kernel[1]; ++s, ++weight) {
                const Extent top = h * one.stride[0] + r * one.dilation[0] - one.pads[0];
                const Extent left = q * one.stride[1] + s * one.dilation[1] - one.pads[1];
                if (top < 0 || top >= height || left < 0 || left >= width) continue;
                y[static_cast<std::size_t>(((n * all + k) * height + top) * width + left)] +=
                    double{w[weight]} * x.values[pixel];
              }
        }
  return y;
}

File file_of(const Transposed& one, const std::vector<float>& w, const std::vector<float>& bias, bool sequence) {
  const auto last = [&](Integers numbers) { return sequence ? Integers{numbers[1]} : numbers; };
  Integers input{-1, one.channels};
  Integers weights{one.channels, one.outputs};
  for (const std::int64_t extent : last(one.size)) input.push_back(extent);
  for (const std::int64_t extent : last(one.kernel)) weights.push_back(extent);
  File file;
  file.input("x", input).floats("w", weights, w).output("y");
  file.floats("b", {static_cast<std::int64_t>(bias.size())}, bias);
  onnx::NodeProto& node = file.node("ConvTranspose", {"x", "w", "b"}, "y");
  set(node, "strides", last(one.stride));
  set(node, "dilations", last(one.dilation));
  set(node, "pads", sequence ? Integers{one.pads[1], one.pads[3]} : one.pads);
  set(node, "output_padding", last(one.added));
  set(node, "group", one.groups);
  return file;
}

void expect_equal_outputs(const Transposed& one, Rng& rng, bool sequence = false) {
  const auto count = static_cast<std::size_t>(one.channels * one.outputs * one.kernel[0] * one.kernel[1]);
  std::vector<float> w = testing::random_values(rng, count, -1, 1);
  for (std::size_t i = 0; i < w.size(); i += 3) w[i] = 0;
  const auto bias = testing::random_values(rng, static_cast<std::size_t>(one.outputs * one.groups), -1, 1);
  Shape shape{2, one.channels, one.size[0], one.size[1]};
  Tensor x = testing::random_tensor(rng, shape);
  const std::vector<double> expected = scattered(one, x, w, bias);
  if (sequence) x.shape.erase(x.shape.begin() + 2);
  const Model model = file_of(one, w, bias, sequence).read();
  model.validate();
  const Bounded found = evaluate(model, {x}).at(0);
  Shape lengths{2, one.outputs * one.groups, one.length(0), one.length(1)};
  if (sequence) lengths.erase(lengths.begin() + 2);
  ASSERT_EQ(shape_text(found.shape), shape_text(lengths));
  for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(found.values[i], expected[i], 1e-9) << i;
  const auto& weights = std::get<Convolution>(model.nodes.at(0).operation).weights;
  EXPECT_EQ(weights->entries(), static_cast<Offset>(w.size() - (w.size() + 2) / 3)) << "each weight is there once";
}

TEST(OnnxTransposed, ConvolutionsEqualScatteredOnes) {
  Rng rng(17);
  expect_equal_outputs({}, rng);
  expect_equal_outputs({.stride = {2, 2}, .pads = {1, 0, 0, 1}, .added = {1, 0}}, rng);
  expect_equal_outputs({.kernel = {2, 2}, .stride = {2, 2}}, rng);
  expect_equal_outputs({.groups = 2, .kernel = {4, 3}, .stride = {2, 3}, .pads = {1, 2, 1, 0}}, rng);
  expect_equal_outputs({.kernel = {1, 1}, .stride = {3, 2}, .added = {2, 0}}, rng);  // most phases have no tap
  expect_equal_outputs({.size = {5, 6}, .kernel = {1, 2}, .pads = {2, 3, 1, 1}},
                       rng);  // outputs begin within the image
  expect_equal_outputs({.kernel = {2, 3}, .stride = {3, 2}, .dilation = {3, 5}, .pads = {4, 2, 0, 1}}, rng);
  expect_equal_outputs({.size = {1, 7}, .kernel = {1, 4}, .stride = {1, 2}, .pads = {0, 1, 0, 1}}, rng, true);
  for (int i = 0; i < 100; ++i) {
    Transposed one;
    const auto number = [&](std::uint32_t least, std::uint32_t below) { return Extent{least + rng.below(below)}; };
    one.groups = number(1, 2);
    one.outputs = number(1, 3);
    for (std::size_t axis = 0; axis < 2; ++axis) {
      one.size[axis] = number(1, 6);
      one.kernel[axis] = number(1, 5);
      one.stride[axis] = number(1, 4);
      one.dilation[axis] = number(1, 3);
      one.added[axis] = number(0, 3);
      for (const std::size_t end : {axis, axis + 2})
        if (one.length(axis) > 2) one.pads[end] = number(0, static_cast<std::uint32_t>(one.length(axis) - 1));
    }
    expect_equal_outputs(one, rng);
  }
}

TEST(OnnxTransposed, ADilationIsOneOfTheConvolution) {
  Rng rng(19);
  const Transposed one{.kernel = {3, 2}, .dilation = {4, 3}, .pads = {1, 0, 2, 0}};
  expect_equal_outputs(one, rng);
  const Model model = file_of(one, std::vector<float>(72, 1), {1, 2, 3}, false).read();
  const Window& window = std::get<Convolution>(model.nodes.at(0).operation).window;
  EXPECT_EQ(window.kernel, (std::array<Index, 2>{3, 2}));
  EXPECT_EQ(window.dilation, (std::array<Index, 2>{4, 3}));
}

/// Output and padding that follow from the attributes, as the convolution's first output shows them.
Bounded ones(const std::function<void(onnx::NodeProto&)>& attributes) {
  File file;
  file.input("x", {1, 1, 4}).floats("w", {1, 1, 4}, {1, 2, 3, 4}).output("y");
  onnx::NodeProto& node = file.node("ConvTranspose", {"x", "w"}, "y");
  set(node, "strides", Integers{3});
  attributes(node);
  return evaluate(file.read(), {testing::make_tensor({1, 1, 4}, {1, 1, 1, 1})}).at(0);
}

TEST(OnnxTransposed, TheOutputsLengthSaysWhereItBegins) {
  // Without padding: 1 2 3 5 2 3 5 2 3 5 2 3 4.
  const std::vector<double> middle{2, 3, 5, 2, 3, 5, 2, 3, 5, 2, 3};
  const auto with_shape = [](std::int64_t length, const char* automatic) {
    return ones([&](onnx::NodeProto& node) {
             set(node, "output_shape", Integers{length});
             set(node, "auto_pad", automatic);
           })
        .values;
  };
  EXPECT_EQ(with_shape(11, "NOTSET"), middle);
  EXPECT_EQ(with_shape(12, "NOTSET").front(), 2);
  EXPECT_EQ(with_shape(12, "SAME_UPPER").front(), 1);
  EXPECT_EQ(with_shape(14, "NOTSET").back(), 0);
  EXPECT_EQ(ones([](onnx::NodeProto& node) { set(node, "auto_pad", "SAME_LOWER"); }).values.size(), 12U);
  EXPECT_EQ(ones([](onnx::NodeProto& node) { set(node, "auto_pad", "SAME_LOWER"); }).values.front(), 2);
  EXPECT_EQ(ones([](onnx::NodeProto& node) { set(node, "pads", Integers{1, 1}); }).values, middle);
}

TEST(OnnxTransposed, WhatDoesNotFitIsRefused) {
  const auto with = [](const Integers& weights, const std::string& name, auto value) {
    File file;
    std::int64_t count = 1;
    for (const std::int64_t extent : weights) count *= extent;
    file.input("x", {-1, 4, 5, 5}).output("y");
    file.floats("w", weights, std::vector<float>(static_cast<std::size_t>(count), 1));
    set(file.node("ConvTranspose", {"x", "w"}, "y"), name, value);
    return refusal(file);
  };
  const std::string node = "net.onnx: node 'y' (ConvTranspose): ";
  EXPECT_EQ(with({4, 2, 3, 3}, "group", std::int64_t{3}),
            node + "attribute group: 3 does not divide the 4 input channels");
  EXPECT_EQ(with({3, 2, 3, 3}, "group", std::int64_t{1}),
            node + "input 2 'w': weights for 3 channels, but the input has 4");
  EXPECT_EQ(with({4, 2, 3, 3}, "pads", Integers{4, 0, 3, 0}),
            node + "an output axis has the length 0, expected 1..2147483647");
  EXPECT_EQ(with({4, 2, 3, 3}, "output_padding", Integers{0, -1}),
            node + "attribute output_padding: -1 is outside 0..2147483647");
  EXPECT_EQ(with({4, 2, 3, 3}, "strides", Integers{100000, 100000}), node + "strides of 100000 x 100000 are too large");
  EXPECT_EQ(with({4, 2, 3, 3}, "strides", Integers{10000, 10000}),
            "net.onnx: the constants take far more memory than the file has bytes; one of them is copied "
            "repeatedly");
  File dilated;
  dilated.input("x", {-1, 1, 5, 5}).output("y").floats("w", {1, 1, 3, 3}, std::vector<float>(9, 1));
  set(dilated.node("ConvTranspose", {"x", "w"}, "y"), "dilations", Integers{1000001, 1000001});
  set(*dilated.graph().mutable_node(0), "strides", Integers{2, 2});
  EXPECT_EQ(refusal(dilated), node + "filters of 1000002 x 1000002 taps are too large");
  EXPECT_EQ(with({4, 2, 3, 3}, "auto_pad", "SAME"),
            node + "attribute auto_pad: 'SAME' is none of NOTSET, SAME_UPPER, SAME_LOWER, VALID");
}

TEST(OnnxTransposed, AChangedByteNeverEndsInAnythingButAMessage) {
  const Transposed one{.groups = 2, .stride = {2, 3}, .dilation = {3, 1}, .pads = {1, 0, 2, 0}, .added = {1, 1}};
  const std::string whole = file_of(one, std::vector<float>(72, 1), std::vector<float>(6, 1), false).bytes();
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const int change : {1, 0x80}) {
      std::string changed = whole;
      changed[at] = static_cast<char>(changed[at] ^ change);
      try {
        read_onnx(InputFile("net.onnx", std::as_bytes(std::span(changed)))).validate();
      } catch (const DataError& error) {
        onnx_test::expect_part(error.what(), "net.onnx: ");
      }
    }
  }
}

/// The means of 24 numbers, 2 x 3 x 4, along some axes.
std::vector<double> means(const std::vector<bool>& reduced) {
  std::vector<double> sums;
  std::vector<double> counts;
  for (int a = 0; a < 2; ++a)
    for (int b = 0; b < 3; ++b)
      for (int c = 0; c < 4; ++c) {
        std::size_t place = reduced[0] ? 0 : static_cast<std::size_t>(a);
        if (!reduced[1]) place = place * 3 + static_cast<std::size_t>(b);
        if (!reduced[2]) place = place * 4 + static_cast<std::size_t>(c);
        sums.resize(std::max(sums.size(), place + 1));
        counts.resize(sums.size());
        sums[place] += (a * 3 + b) * (c + 1);
        ++counts[place];
      }
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] /= counts[i];
  return sums;
}

TEST(OnnxReduceMean, EachChoiceOfAxesIsAveragedOver) {
  Tensor x = testing::make_tensor({2, 3, 4}, std::vector<float>(24));
  std::vector<float> values(24);
  for (int row = 0; row < 6; ++row)
    for (int i = 0; i < 4; ++i) values[row * 4 + i] = static_cast<float>(row * (i + 1));
  x = testing::make_tensor({2, 3, 4}, values);
  for (unsigned bits = 0; bits < 8; ++bits)
    for (const std::int64_t keep : {0, 1})
      for (const int opset : {17, 18}) {
        std::vector<bool> reduced;
        Integers axes;
        Shape shape;
        for (unsigned axis = 0; axis < 3; ++axis) {
          reduced.push_back(bits == 0 || (bits >> axis & 1U) != 0);
          if (bits >> axis & 1U) axes.push_back(axis == 1 ? -2 : std::int64_t{axis});
          if (!reduced.back() || keep == 1) shape.push_back(reduced.back() ? 1 : x.shape[axis]);
        }
        File file(opset);
        file.input("x", {2, 3, 4}).output("y").integers("axes", axes);
        const bool given = opset == 18 && bits != 0;
        onnx::NodeProto& node =
            file.node("ReduceMean", given ? std::vector<std::string>{"x", "axes"} : std::vector<std::string>{"x"}, "y");
        set(node, "keepdims", keep);
        if (opset == 17 && bits != 0) set(node, "axes", axes);
        const Bounded found = evaluate(file.read(), {x}).at(0);
        EXPECT_EQ(shape_text(found.shape), shape_text(shape)) << bits;
        const std::vector<double> expected = means(reduced);
        ASSERT_EQ(found.values.size(), expected.size());
        for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(found.values[i], expected[i], 1e-12) << bits;
      }
}

TEST(OnnxReduceMean, OfImagesIsTheGlobalPoolAndNeverOfTheBatch) {
  const auto of = [](const Integers& axes, std::int64_t empty_is_none) {
    File file(18);
    file.input("x", {-1, 3, 4, 5}).output("y").integers("axes", axes);
    set(file.node("ReduceMean", {"x", "axes"}, "y"), "noop_with_empty_axes", empty_is_none);
    return file;
  };
  const Model model = of({2, -1}, 0).read();
  ASSERT_EQ(model.nodes.size(), 1U);
  EXPECT_EQ(std::get<GlobalPool>(model.nodes[0].operation).kind, Pool::Kind::average);
  EXPECT_EQ(model.values[model.outputs[0]].shape, (Shape{kBatchExtent, 3, 1, 1}));
  EXPECT_EQ(std::get<Activation>(of({}, 1).read().nodes.at(0).operation).kind, Activation::Kind::identity);
  const std::string node = "net.onnx: node 'y' (ReduceMean): ";
  EXPECT_EQ(refusal(of({}, 0)), node + "axes: the batch axis is among them; give the batch a fixed size");
  EXPECT_EQ(refusal(of({4}, 0)), node + "axes: axis 4 is outside the 4 axes");
}

}  // namespace
}  // namespace spdnn
