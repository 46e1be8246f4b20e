// Operators of ONNX that become several operations: their results against sums by hand, and refusals.

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "model/oracle/evaluate.hpp"
#include "support/onnx_file.hpp"

namespace spdnn {
namespace {

using onnx_test::attribute;
using onnx_test::expect_part;
using onnx_test::File;
using onnx_test::refusal;
using onnx_test::set;

using Numbers = std::vector<double>;

/// A file with one node, whose first input is x; `change` adds attributes, and `inputs` are others.
template <class Change>
File with_node(const std::string& op, const std::vector<std::int64_t>& shape, const Change& change,
               const std::vector<std::string>& inputs = {}, int opset = 17) {
  File file(opset);
  file.input("x", shape).output("y");
  std::vector<std::string> all{"x"};
  all.insert(all.end(), inputs.begin(), inputs.end());
  change(file.node(op, all, "y"));
  return file;
}
File with_node(const std::string& op, const std::vector<std::int64_t>& shape, int opset = 17) {
  return with_node(
      op, shape, [](onnx::NodeProto&) {}, {}, opset);
}

Bounded outcome(const File& file, const Shape& shape, std::vector<float> x) {
  return evaluate(file.read(), {Tensor{shape, std::move(x)}})[0];
}
void expect_near(const Bounded& found, const Numbers& expected) {
  ASSERT_EQ(found.values.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(found.values[i], expected[i], 1e-6) << i;
}
/// The operator's result for these numbers, as one row.
Bounded of_row(const File& file, const std::vector<float>& x) {
  return outcome(file, {1, static_cast<Extent>(x.size())}, x);
}

TEST(OnnxFunctions, ByHand) {
  const auto expect = [](const std::string& op, const std::vector<float>& x, const Numbers& y, int opset = 17) {
    SCOPED_TRACE(op);
    expect_near(of_row(with_node(op, {-1, static_cast<std::int64_t>(x.size())}, opset), x), y);
  };
  expect("Neg", {1, -2}, {-1, 2});
  expect("Reciprocal", {4, -0.5}, {0.25, -2});
  expect("Elu", {2, -1}, {2, std::exp(-1.0) - 1});
  expect("Selu", {2, -1}, {2.1014020, 1.0507010 * 1.6732632 * (std::exp(-1.0) - 1)});
  expect("Celu", {2, -1}, {2, std::exp(-1.0) - 1});
  expect("ThresholdedRelu", {0.5, 1, 1.5}, {0, 0, 1.5});
  expect("Shrink", {-1, -0.25, 0.5, 2}, {-1, 0, 0, 2});
  expect("Softsign", {1, -3}, {0.5, -0.75});
  expect("Mish", {1}, {std::tanh(std::log1p(std::exp(1.0)))}, 18);
  expect("Gelu", {1, -2}, {0.8413447, -0.0455003}, 20);
  expect("Softplus", {0}, {std::log(2.0)});
  expect("Erf", {1}, {0.8427008});
  expect("LogSoftmax", {0, 1, 1000}, {-1000, -999, 0});
}

TEST(OnnxFunctions, AttributesCount) {
  const auto real = [](const char* name, float value) {
    return [=](onnx::NodeProto& node) { set(node, name, value); };
  };
  expect_near(of_row(with_node("Elu", {-1, 1}, real("alpha", 2)), {-1}), {2 * (std::exp(-1.0) - 1)});
  expect_near(of_row(with_node("Celu", {-1, 1}, real("alpha", 2)), {-1}), {2 * (std::exp(-0.5) - 1)});
  expect_near(of_row(with_node("ThresholdedRelu", {-1, 2}, real("alpha", 2)), {1.5, 2.5}), {0, 2.5});
  expect_near(of_row(with_node("Selu", {-1, 1}, real("gamma", 3)), {2}), {6});
  expect_near(of_row(with_node("Shrink", {-1, 2}, real("bias", 0.25)), {-1, 1}), {-0.75, 0.75});
  const auto tanh = [](onnx::NodeProto& node) { set(node, "approximate", "tanh"); };
  expect_near(of_row(with_node("Gelu", {-1, 1}, tanh, {}, 20), {1}), {0.8411920});
  expect_part(refusal(with_node("Celu", {-1, 1}, real("alpha", 0))), "attribute alpha: 0 divides by 0");
  const auto fast = [](onnx::NodeProto& node) { set(node, "approximate", "fast"); };
  expect_part(refusal(with_node("Gelu", {-1, 1}, fast, {}, 20)), "'fast' is neither none nor tanh");
  expect_part(refusal(with_node("Exp", {-1, 1}, real("alpha", 2))), "attribute alpha: not supported");
}

TEST(OnnxFunctions, OfSeveralInputs) {
  const auto expect = [](const std::string& op, const Numbers& y) {
    File file;
    file.input("x", {-1, 3}).output("y").floats("c", {3}, {2, -1, 4}).floats("d", {1}, {3});
    file.node(op, {"x", "c", "d"}, "y");
    SCOPED_TRACE(op);
    expect_near(of_row(file, {1, 2, 9}), y);
  };
  expect("Max", {3, 3, 9});
  expect("Min", {1, -1, 3});
  expect("Sum", {6, 4, 16});
  expect("Mean", {2, 4.0 / 3, 16.0 / 3});
  File power;
  power.input("x", {-1, 2}).output("y").integers("e", {3});
  power.node("Pow", {"x", "e"}, "y");
  expect_near(of_row(power, {-2, 0.5}), {-8, 0.125});
}

TEST(OnnxFunctions, ConstantsAreComparedAndChosen) {
  File file;
  file.input("x", {-1, 3}).output("y").integers("a", {1, 2, 3}).integers("b", {3, 2, 1}).floats("c", {}, {10});
  file.node("Less", {"a", "b"}, "less");
  file.node("Where", {"less", "x", "c"}, "y");
  expect_near(of_row(file, {1, 2, 3}), {1, 10, 10});
  for (const auto& [relation, shape] : {std::pair{"Equal", Shape{1, 3, 2, 3}}, {"Greater", Shape{1, 3, 2, 1}}}) {
    File lengths;  // 3, 2, 3 where the lists are equal, and so on
    lengths.input("x", {1, 1, 1, 1}).output("y").integers("a", {1, 2, 3}).integers("b", {3, 2, 1});
    lengths.integers("f", {4, 2, 1}).integers("g", {3, 7, 3}).integers("one", {1}).integers("none", {0});
    lengths.node(relation, {"a", "b"}, "truth");
    lengths.node("Where", {"truth", "f", "g"}, "chosen");
    lengths.node("Concat", {"one", "chosen"}, "shape");
    set(*lengths.graph().mutable_node(2), "axis", std::int64_t{0});
    lengths.node("Expand", {"x", "shape"}, "y");
    EXPECT_EQ(lengths.read().values.back().shape.size(), 4U) << relation;
  }
  File unknown;
  unknown.input("x", {-1, 3}).output("y").floats("c", {3}, {1, 2, 3});
  unknown.node("Equal", {"x", "c"}, "y");
  expect_part(refusal(unknown), "node 'y' (Equal): input 1 'x': it depends on the inputs of the model");
}

/// A constant that is repeated as often as there are images: the class token of a vision transformer.
TEST(OnnxBlocks, AConstantIsRepeatedForEachImage) {
  const auto file_with = [](const std::vector<std::int64_t>& lengths, const std::vector<std::int64_t>& places) {
    File file;
    file.input("x", {-1, 2, 3}).output("y").integers("zero", {0}).integers("lengths", lengths);
    file.floats("token", {1, 3}, {10, 20, 30}).integers("places", places);
    file.node("Shape", {"x"}, "shape");
    file.node("Gather", {"shape", "zero"}, "images");
    file.node("Concat", {"images", "lengths"}, "all");
    file.node("Gather", {"all", "places"}, "wanted");
    for (const int joined : {2, 3}) set(*file.graph().mutable_node(joined), "axis", std::int64_t{0});
    file.node("Expand", {"token", "wanted"}, "y");
    return file;
  };
  const std::vector<float> numbers{1, -2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  expect_near(outcome(file_with({1, 3}, {0, 1, 2}), {2, 2, 3}, numbers), {10, 20, 30, 10, 20, 30});
  expect_near(outcome(file_with({2, 1}, {0, 1, 2}), {1, 2, 3}, {1, -2, 3, 4, 5, 6}), {10, 20, 30, 10, 20, 30});
  expect_near(outcome(file_with({1, 3}, {0, 2}), {2, 2, 3}, numbers), {10, 20, 30, 10, 20, 30});
  expect_part(refusal(file_with({1, 3}, {1, 0, 2})),
              "node 'y' (Expand): input 2 'wanted': axis 1 of 1 x 3 cannot get the length of the batch; give the batch "
              "a fixed size");
  File whole = file_with({1, 3}, {0, 2});
  whole.integers("seven", {7}).graph().mutable_node(4)->set_input(0, "seven");
  expect_part(refusal(whole), "integers cannot be repeated for each image; give the batch a fixed size");
}

/// What PyTorch exports for `token.expand(x.shape[0], -1)`: where the wanted length is -1, the own length 1.
TEST(OnnxFunctions, TheNumberOfImagesIsComparedWithNumbersBelowOne) {
  const auto file_with = [](std::int64_t compared) {
    File file;
    file.input("x", {-1, 3}).output("y").integers("zero", {0}).integers("own", {1, 3});
    file.integers("three", {3}).integers("compared", {compared}).floats("token", {1, 3}, {10, 20, 30});
    file.node("Shape", {"x"}, "shape");
    file.node("Gather", {"shape", "zero"}, "images");
    set(*file.graph().mutable_node(1), "axis", std::int64_t{0});
    file.node("Concat", {"images", "compared"}, "wanted");
    set(*file.graph().mutable_node(2), "axis", std::int64_t{0});
    file.node("Equal", {"wanted", "compared"}, "same");
    file.node("Where", {"same", "own", "wanted"}, "lengths");
    file.node("Add", {"x", "token"}, "sum");
    file.node("Expand", {"sum", "lengths"}, "y");
    return file;
  };
  expect_near(of_row(file_with(-1), {1, 2, 3}), {11, 22, 33});
  const char* const depends = "node 'same' (Equal): its result depends on the number of images";
  expect_part(refusal(file_with(1)), depends);
  expect_part(refusal(file_with(3)), depends);
}

TEST(OnnxFunctions, AnOutputOfLengthsMustNotDependOnTheNumberOfImages) {
  File file;
  file.input("x", {-1, 3}).output("y");
  file.node("Shape", {"x"}, "y");
  expect_part(refusal(file), "output 'y' depends on the number of images in a batch");
}

TEST(OnnxReductions, ByHand) {
  const auto expect = [](const std::string& op, const Numbers& y, int opset = 17) {
    SCOPED_TRACE(op);
    const auto axes = [&](onnx::NodeProto& node) { set(node, "axes", std::vector<std::int64_t>{-1}); };
    expect_near(outcome(with_node(op, {-1, 2, 2}, axes, {}, opset), {1, 2, 2}, {3, -4, 1, 2}), y);
  };
  expect("ReduceSum", {-1, 3}, 12);
  expect("ReduceMax", {3, 2});
  expect("ReduceMin", {-4, 1});
  expect("ReduceProd", {-12, 2});
  expect("ReduceL1", {7, 3});
  expect("ReduceL2", {5, std::sqrt(5.0)});
  expect("ReduceSumSquare", {25, 5});
  expect("ReduceMean", {-0.5, 1.5});
  expect("ReduceLogSumExp", {std::log(std::exp(3.0) + std::exp(-4.0)), std::log(std::exp(1.0) + std::exp(2.0))});
  expect_part(refusal(with_node("ReduceSum", {-1, 2}, 17)), "axes: the batch axis is among them");
  File later(18);
  later.input("x", {-1, 2, 2}).output("y").integers("axes", {1});
  set(later.node("ReduceMax", {"x", "axes"}, "y"), "keepdims", std::int64_t{0});
  const Bounded flat = outcome(later, {1, 2, 2}, {3, -4, 1, 2});
  EXPECT_EQ(flat.shape, (Shape{1, 2}));
  expect_near(flat, {3, 2});
}

TEST(OnnxReductions, LayersAndInstancesAreNormalized) {
  File layer;
  layer.input("x", {-1, 2, 2})
      .output("y")
      .output("mean")
      .output("inverse")
      .floats("s", {2}, {2, 1})
      .floats("b", {2}, {0, 5});
  onnx::NodeProto& node = layer.node("LayerNormalization", {"x", "s", "b"}, "y");
  node.add_output("mean");
  node.add_output("inverse");
  set(node, "epsilon", 0.F);
  const Tensor x{{1, 2, 2}, std::vector<float>{1, 3, 10, 30}};
  const std::vector<Bounded> all = evaluate(layer.read(), {x});
  expect_near(all[0], {-2, 6, -2, 6});
  expect_near(all[1], {2, 20});
  expect_near(all[2], {1, 0.1});

  File instance;
  instance.input("x", {-1, 2, 2}).output("y").floats("s", {2}, {2, 3}).floats("b", {2}, {0, 1});
  set(instance.node("InstanceNormalization", {"x", "s", "b"}, "y"), "epsilon", 0.F);
  expect_near(outcome(instance, {1, 2, 2}, {1, 3, 10, 30}), {-2, 2, -2, 4});

  File groups(21);
  groups.input("x", {-1, 2, 1}).output("y").floats("s", {2}, {2, 3}).floats("b", {2}, {0, 1});
  onnx::NodeProto& group = groups.node("GroupNormalization", {"x", "s", "b"}, "y");
  set(group, "num_groups", std::int64_t{1});
  set(group, "epsilon", 0.F);
  expect_near(outcome(groups, {1, 2, 1}, {1, 3}), {-2, 4});
  group.mutable_attribute(0)->set_i(3);
  expect_part(refusal(groups), "attribute num_groups: 3 does not divide the channels of N x 2 x 1");
}

TEST(OnnxReductions, NeighbouringChannelsAreResponses) {
  const auto three = [](onnx::NodeProto& node) {
    set(node, "size", std::int64_t{3});
    set(node, "alpha", 3.F);
    set(node, "beta", 1.F);
  };
  // x / (1 + the sum of squares of the channel and its neighbours)
  expect_near(outcome(with_node("LRN", {-1, 4, 1, 1}, three), {1, 4, 1, 1}, {1, 2, 3, 0}),
              {1.0 / 6, 2.0 / 15, 3.0 / 14, 0});
  const auto none = [](onnx::NodeProto& node) { set(node, "size", std::int64_t{0}); };
  expect_part(refusal(with_node("LRN", {-1, 4, 1, 1}, none)), "attribute size: 0, expected 1 or more");
}

TEST(OnnxBlocks, DepthAndSpaceAreExchanged) {
  const auto block = [](const char* mode) {
    return [=](onnx::NodeProto& node) {
      set(node, "blocksize", std::int64_t{2});
      if (mode != nullptr) set(node, "mode", mode);
    };
  };
  std::vector<float> channels(8);
  std::iota(channels.begin(), channels.end(), 0.F);
  const Shape deep{1, 8, 1, 1};
  expect_near(outcome(with_node("DepthToSpace", {-1, 8, 1, 1}, block(nullptr)), deep, channels),
              {0, 2, 4, 6, 1, 3, 5, 7});
  expect_near(outcome(with_node("DepthToSpace", {-1, 8, 1, 1}, block("CRD")), deep, channels),
              {0, 1, 2, 3, 4, 5, 6, 7});
  expect_near(outcome(with_node("SpaceToDepth", {-1, 2, 2, 2}, block(nullptr)), {1, 2, 2, 2}, channels),
              {0, 4, 1, 5, 2, 6, 3, 7});
  expect_part(refusal(with_node("SpaceToDepth", {-1, 2, 3, 2}, block(nullptr))), "2 does not divide 3 x 2 pixels");
  expect_part(refusal(with_node("DepthToSpace", {-1, 6, 1, 1}, block(nullptr))), "2 x 2 does not divide 6 channels");
}

TEST(OnnxBlocks, ElementsAreRepeated) {
  File expand;
  expand.input("x", {-1, 1, 2}).output("y").integers("shape", {1, 3, 1});
  expand.node("Expand", {"x", "shape"}, "y");
  expect_near(outcome(expand, {1, 1, 2}, {1, 2}), {1, 2, 1, 2, 1, 2});
  File tile;
  tile.input("x", {-1, 2}).output("y").integers("times", {1, 2});
  tile.node("Tile", {"x", "times"}, "y");
  expect_near(outcome(tile, {2, 2}, {1, 2, 3, 4}), {1, 2, 1, 2, 3, 4, 3, 4});
  File batch;
  batch.input("x", {-1, 2}).output("y").integers("times", {2, 1});
  batch.node("Tile", {"x", "times"}, "y");
  expect_part(refusal(batch), "the batch axis cannot be repeated");
  File many;  // of which the checks of a model would take seconds
  many.input("x", {-1, 2}).output("y").integers("times", {1, 1'000'000});
  many.node("Tile", {"x", "times"}, "y");
  expect_part(refusal(many), "copied repeatedly");
}

TEST(OnnxBlocks, PaddingFromTheValueItself) {
  const auto padded = [](const char* mode, const std::vector<std::int64_t>& pads) {
    File file;
    file.input("x", {-1, 4}).output("y").integers("pads", pads);
    set(file.node("Pad", {"x", "pads"}, "y"), "mode", mode);
    return file;
  };
  const std::vector<float> row{1, 2, 3, 4};
  expect_near(of_row(padded("edge", {0, 2, 0, 1}), row), {1, 1, 1, 2, 3, 4, 4});
  expect_near(of_row(padded("reflect", {0, 2, 0, 1}), row), {3, 2, 1, 2, 3, 4, 3});
  expect_near(of_row(padded("wrap", {0, 2, 0, 1}), row), {3, 4, 1, 2, 3, 4, 1});
  expect_near(of_row(padded("reflect", {0, 0, 0, -2}), row), {1, 2});
  expect_part(refusal(padded("reflect", {0, 4, 0, 0})), "4 and 0 by the mode reflect are more than 3");
  File axes(18);
  axes.input("x", {-1, 4}).output("y").integers("pads", {1, 0}).integers("axes", {-1}).floats("v", {}, {7});
  axes.node("Pad", {"x", "pads", "v", "axes"}, "y");
  expect_near(of_row(axes, row), {7, 1, 2, 3, 4});
}

TEST(OnnxBlocks, MatricesAreMultiplied) {
  File file;
  file.input("x", {-1, 2, 2}).output("y");
  file.node("Transpose", {"x"}, "t");
  set(*file.graph().mutable_node(0), "perm", std::vector<std::int64_t>{0, 2, 1});
  file.node("MatMul", {"x", "t"}, "y");
  expect_near(outcome(file, {1, 2, 2}, {1, 2, 3, 4}), {5, 11, 11, 25});
  File gemm;
  gemm.input("x", {2, 2}).output("y");
  set(gemm.node("Gemm", {"x", "x"}, "y"), "transB", std::int64_t{1});
  set(*gemm.graph().mutable_node(0), "alpha", 0.5F);
  expect_near(outcome(gemm, {2, 2}, {1, 2, 3, 4}), {2.5, 5.5, 5.5, 12.5});
  File flipped;
  flipped.input("x", {-1, 2}).output("y").floats("w", {2, 2}, {1, 2, 3, 4});
  set(flipped.node("Gemm", {"x", "w"}, "y"), "transA", std::int64_t{1});
  expect_part(refusal(flipped), "node 'y' (Gemm): attribute transA: 1 moves the batch axis");
  File vector;
  vector.input("x", {2, 3}).output("y").floats("v", {3}, {1, 10, 100});
  vector.node("MatMul", {"x", "v"}, "y");
  expect_near(outcome(vector, {2, 3}, {1, 2, 3, 4, 5, 6}), {321, 654});
}

TEST(OnnxBlocks, CubicResizesAreKeys) {
  const auto resized = [](int opset, const std::vector<std::string>& inputs) {
    File file(opset);
    file.input("x", {-1, 1, 1, 4}).output("y").floats("s", {4}, {1, 1, 1, 2}).floats("w", {1}, {2});
    set(file.node("Resize", inputs, "y"), "mode", "cubic");
    if (opset >= 18) set(*file.graph().mutable_node(0), "axes", std::vector<std::int64_t>{3});
    return file;
  };
  // Weights a quarter and three quarters away, by Keys' formula with a = -0.75.
  const Numbers expected{0.89453125, 1.19140625, 1.66796875, 2.296875, 2.703125, 3.33203125, 3.80859375, 4.10546875};
  expect_near(outcome(resized(13, {"x", "", "s"}), {1, 1, 1, 4}, {1, 2, 3, 4}), expected);
  expect_near(outcome(resized(18, {"x", "", "w"}), {1, 1, 1, 4}, {1, 2, 3, 4}), expected);
}

TEST(OnnxBlocks, AxesThatAResizeDoesNotNameStay) {
  File file(18);
  file.input("x", {-1, 1, 1, 2}).output("y").integers("size", {4});
  onnx::NodeProto& node = file.node("Resize", {"x", "", "", "size"}, "y");
  set(node, "axes", std::vector<std::int64_t>{3});
  const Bounded found = outcome(file, {1, 1, 1, 2}, {1, 2});
  EXPECT_EQ(found.shape, (Shape{1, 1, 1, 4}));
  expect_near(found, {1, 1, 2, 2});
}

TEST(OnnxBlocks, OtherResizesAreRefusedByNodeAndAttribute) {
  const auto refusal_of = [](const char* attribute, auto value) {
    File file(18);
    file.input("x", {1, 1, 4, 4}).output("y").floats("s", {4}, {1, 1, 2, 2});
    set(file.node("Resize", {"x", "", "s"}, "y"), "mode", "linear");
    set(*file.graph().mutable_node(0), attribute, value);
    return refusal(file);
  };
  expect_part(refusal_of("antialias", std::int64_t{1}), "node 'y' (Resize): attribute antialias: 1 is not supported");
  expect_part(refusal_of("coordinate_transformation_mode", "tf_crop_and_resize"),
              "node 'y' (Resize): attribute coordinate_transformation_mode: 'tf_crop_and_resize' is not supported");
  expect_part(refusal_of("keep_aspect_ratio_policy", "not_larger"), "keep_aspect_ratio_policy: 'not_larger' is not");
}

TEST(OnnxIntegers, AreReadWhereTheyAreCast) {
  File file;
  file.input("x", {-1, 2, 3}).output("y");
  file.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::UINT8);
  set(file.node("Transpose", {"x"}, "t"), "perm", std::vector<std::int64_t>{0, 2, 1});
  set(file.node("Cast", {"t"}, "f"), "to", std::int64_t{onnx::TensorProto::FLOAT});
  file.node("Neg", {"f"}, "y");
  expect_near(outcome(file, {1, 2, 3}, {1, 2, 3, 4, 5, 6}), {-1, -4, -2, -5, -3, -6});
  file.graph().mutable_node(2)->set_input(0, "t");
  expect_part(refusal(file), "node 'y' (Neg): input 1 't': it has integers, which only Cast");
  file.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::STRING);
  expect_part(refusal(file), "input 'x': its elements are STRING, expected numbers");
}

TEST(OnnxIntegers, AreMadeOfRealsAndBack) {
  File file;
  file.input("x", {-1, 3}).output("y").floats("scale", {}, {0.5F});
  file.tensor("zero", {}, onnx::TensorProto::INT8).add_int32_data(-3);
  file.node("QuantizeLinear", {"x", "scale", "zero"}, "q");
  file.node("DequantizeLinear", {"q", "scale", "zero"}, "y");
  expect_near(of_row(file, {0.3F, -100, 100}), {0.5, (-128 + 3) / 2.0, (127 + 3) / 2.0});
  file.graph().mutable_node(1)->set_input(0, "x");
  expect_part(refusal(file), "node 'y' (DequantizeLinear): input 1 'x': it has no integers");

  File mixed;
  mixed.input("x", {-1, 3}).output("y").floats("scale", {}, {0.5F});
  mixed.tensor("zero", {}, onnx::TensorProto::UINT8).add_int32_data(3);
  mixed.tensor("other", {}, onnx::TensorProto::INT8).add_int32_data(3);
  mixed.node("QuantizeLinear", {"x", "scale", "zero"}, "q");
  set(mixed.node("Transpose", {"q"}, "t"), "perm", std::vector<std::int64_t>{0, 1});
  mixed.node("DequantizeLinear", {"t", "scale", "other"}, "y");
  expect_part(refusal(mixed),
              "node 'y' (DequantizeLinear): input 3 'other': its type is int8, but that of input 1 is uint8");

  File divided;
  divided.input("x", {-1, 3}).output("q").floats("scale", {3}, {1, 0, 1});
  divided.node("QuantizeLinear", {"x", "scale"}, "q");
  expect_part(refusal(divided), "node 'q' (QuantizeLinear): input 2 'scale': a scale is 0");

  File weights;  // per channel, of a convolution
  weights.input("x", {-1, 1, 1, 1}).output("y").floats("scale", {2}, {0.5F, 2});
  onnx::TensorProto& stored = weights.tensor("w", {2, 1, 1, 1}, onnx::TensorProto::INT8);
  for (const int weight : {3, -4}) stored.add_int32_data(weight);
  set(weights.node("DequantizeLinear", {"w", "scale"}, "d"), "axis", std::int64_t{0});
  weights.node("Conv", {"x", "d"}, "y");
  expect_near(outcome(weights, {1, 1, 1, 1}, {10}), {15, -80});
  EXPECT_EQ(weights.read().nodes.size(), 1U);
  weights.graph().mutable_node(0)->add_input("zero");
  onnx::TensorProto& zeros = weights.tensor("zero", {2}, onnx::TensorProto::UINT8);
  for (const int zero : {1, 1}) zeros.add_int32_data(zero);
  expect_part(refusal(weights),
              "node 'd' (DequantizeLinear): input 3 'zero': its type is uint8, but that of input 1 is int8");

  File many;
  many.input("x", {-1, 1, 2}).output("y").floats("scale", {3}, {1, 2, 3});
  many.node("QuantizeLinear", {"x", "scale"}, "q");
  many.node("DequantizeLinear", {"q", "scale"}, "y");
  expect_part(
      refusal(many),
      "node 'q' (QuantizeLinear): input 2 'scale': expected one number, or one for each of the 1 places of axis "
      "1 of input 1; its shape is 3");

  File row;  // has no second axis along which scales could differ
  row.input("x", {3}).output("y").floats("scale", {3}, {1, 2, 3});
  row.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::UINT8);
  row.node("DequantizeLinear", {"x", "scale"}, "y");
  expect_part(refusal(row),
              "input 2 'scale': expected one number, as input 1, of shape 3, has no axis of channels; its shape is 3");
}

TEST(OnnxFunctions, ANormHasANumberForEachChannel) {
  File file =
      with_node("BatchNormalization", {-1, 2, 3, 3}, [](const auto&) {}, {"scale", "shift", "mean", "variance"});
  file.floats("scale", {3}, {1, 1, 1}).floats("shift", {2}, {0, 0}).floats("mean", {2}, {0, 0});
  file.floats("variance", {2}, {1, 1});
  expect_part(refusal(file), "'scale': 3 numbers for 2 channels");
}

}  // namespace
}  // namespace spdnn
