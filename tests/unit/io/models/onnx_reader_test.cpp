// Models from ONNX files: shapes, weights, folded constants, and files of two real exporters.

#include <gtest/gtest.h>

#include <bit>
#include <chrono>
#include <limits>

#include "io/models/budget.hpp"
#include "io/models/onnx/read/tensor.hpp"
#include "spdnn/error.hpp"
#include "support/hostile_files.hpp"
#include "support/model_text.hpp"
#include "support/onnx_file.hpp"
#include "support/shared_data.hpp"
#include "temporary_directory.hpp"

namespace spdnn {
namespace {

using onnx_test::expect_part;
using onnx_test::File;
using onnx_test::refusal;
using onnx_test::set;

const Shape& output_shape_of(const Model& model) { return model.values[model.outputs.at(0)].shape; }

template <class Kind>
const Kind& only(const Model& model) {
  EXPECT_EQ(model.nodes.size(), 1U);
  return std::get<Kind>(model.nodes.at(0).operation);
}

File conv_file() {
  File file;
  file.input("x", {-1, 2, 3, 3}).floats("w", {2, 2, 1, 1}, {0, 2, -0.0F, 3}).floats("b", {2}, {5, 7}).output("y");
  set(file.node("Conv", {"x", "w", "b"}, "y"), "strides", std::vector<std::int64_t>{1, 2});
  return file;
}

TEST(Onnx, ZerosOfAFilterAreNoEntries) {
  const Model model = conv_file().read();
  const auto& conv = only<Convolution>(model);
  EXPECT_EQ(std::vector<Offset>(conv.weights->offsets.begin(), conv.weights->offsets.end()),
            (std::vector<Offset>{0, 1, 2}));
  EXPECT_EQ(std::vector<Index>(conv.weights->indices.begin(), conv.weights->indices.end()), (std::vector<Index>{1, 1}));
  EXPECT_EQ(std::vector<float>(conv.weights->values.begin(), conv.weights->values.end()), (std::vector<float>{2, 3}));
  EXPECT_EQ(conv.bias, (std::vector<float>{5, 7}));
  EXPECT_EQ(conv.window.stride, (std::array<Index, 2>{1, 2}));
  EXPECT_EQ(output_shape_of(model), (Shape{kBatchExtent, 2, 3, 2}));
  EXPECT_EQ(model.name, "net");
  EXPECT_EQ(model.nodes[0].name, "y");
}

TEST(Onnx, PaddingToTheSameSizeGoesToTheEndOrTheBeginning) {
  for (const bool upper : {true, false}) {
    File file;
    file.input("x", {-1, 1, 5}).floats("w", {1, 1, 4}, {1, 2, 3, 4}).output("y");
    onnx::NodeProto& conv = file.node("Conv", {"x", "w"}, "y");
    set(conv, "auto_pad", upper ? "SAME_UPPER" : "SAME_LOWER");
    const Model model = file.read();
    const Window& window = only<Convolution>(model).window;
    EXPECT_EQ(window.kernel, (std::array<Index, 2>{1, 4}));
    EXPECT_EQ(window.pad_begin, (std::array<Index, 2>{0, upper ? 1U : 2U}));
    EXPECT_EQ(window.pad_end, (std::array<Index, 2>{0, upper ? 2U : 1U}));
    EXPECT_EQ(output_shape_of(model), (Shape{kBatchExtent, 1, 5}));
  }
}

TEST(Onnx, EveryTypeOfElementsIsReadFromBytesAndFromFields) {
  const std::vector<float> expected{1.5F, -2, 0.25F};
  const std::vector<std::uint16_t> halves{0x3E00, 0xC000, 0x3400};
  const std::vector<std::uint16_t> bfloats{0x3FC0, 0xC000, 0x3E80};
  const auto check = [&](int type, auto fill) {
    File file;
    file.input("x", {-1, 3}).output("y");
    fill(file.tensor("c", {3}, type));
    file.node("Add", {"x", "c"}, "y");
    const Model model = file.read();
    const Tensor& constant = model.values.at(model.nodes.at(0).inputs[1]).constant.value();
    EXPECT_EQ(std::vector<float>(constant.values.begin(), constant.values.end()), expected) << type;
  };
  const auto raw = [](const auto& values) {
    return [&](onnx::TensorProto& tensor) {
      tensor.set_raw_data(std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof values[0]));
    };
  };
  const std::vector<double> doubles(expected.begin(), expected.end());
  check(onnx::TensorProto::FLOAT, raw(expected));
  check(onnx::TensorProto::DOUBLE, raw(doubles));
  check(onnx::TensorProto::FLOAT16, raw(halves));
  check(onnx::TensorProto::BFLOAT16, raw(bfloats));
  check(onnx::TensorProto::FLOAT, [&](auto& tensor) {
    for (const float v : expected) tensor.add_float_data(v);
  });
  check(onnx::TensorProto::DOUBLE, [&](auto& tensor) {
    for (const float v : expected) tensor.add_double_data(v);
  });
  check(onnx::TensorProto::FLOAT16, [&](auto& tensor) {
    for (const auto v : halves) tensor.add_int32_data(v);
  });
  check(onnx::TensorProto::BFLOAT16, [&](auto& tensor) {
    for (const auto v : bfloats) tensor.add_int32_data(v);
  });
}

TEST(Onnx, HalvesBelowTheNormalOnesAreExact) {
  File file;
  file.input("x", {-1, 2}).output("y");
  onnx::TensorProto& half = file.tensor("c", {2}, onnx::TensorProto::FLOAT16);
  half.add_int32_data(0x0001);
  half.add_int32_data(0x83FF);
  file.node("Add", {"x", "c"}, "y");
  const Model model = file.read();
  const Tensor& constant = model.values.at(model.nodes.at(0).inputs[1]).constant.value();
  EXPECT_EQ(constant.values[0], 0x1p-24F);
  EXPECT_EQ(constant.values[1], -1023 * 0x1p-24F);
}

TEST(Onnx, WeightsKeepTheirType) {
  const auto form = [](int type, const std::vector<std::uint16_t>& bits, bool transposed) {
    File file;
    file.input("x", {-1, 2}).output("y");
    onnx::TensorProto& weights = file.tensor("w", {2, 2}, type);
    for (const std::uint16_t number : bits) weights.add_int32_data(number);
    set(file.node("Gemm", {"x", "w"}, "y"), "transB", std::int64_t{transposed ? 1 : 0});
    const Linear linear = only<Linear>(file.read());
    EXPECT_EQ(dense_rows(linear.weights, 0, 2),
              (transposed ? std::vector<float>{1.5F, 0, -2, 0.25F} : std::vector<float>{1.5F, -2, 0, 0.25F}));
    return linear.weights.form();
  };
  for (const bool transposed : {false, true}) {
    EXPECT_EQ(form(onnx::TensorProto::FLOAT16, {0x3E00, 0, 0xC000, 0x3400}, transposed), "dense f16");
    EXPECT_EQ(form(onnx::TensorProto::BFLOAT16, {0x3FC0, 0, 0xC000, 0x3E80}, transposed), "dense bf16");
  }
  File file;
  file.input("x", {-1, 3}).output("y").floats("w", {3, 1}, {1, 2, 3});
  file.node("MatMul", {"x", "w"}, "y");
  EXPECT_EQ(only<Linear>(file.read()).weights.form(), "csr f32");
}

TEST(Onnx, AShapeThatIsComputedFromShapesIsFolded) {
  File file;
  file.input("x", {-1, 4, 2, 3}).output("y").integers("zero", {0}).integers("one", {1}).integers("rest", {-1});
  file.node("Shape", {"x"}, "shape");
  file.node("Slice", {"shape", "zero", "one"}, "images");
  set(file.node("Concat", {"images", "rest"}, "target"), "axis", std::int64_t{0});
  file.node("Reshape", {"x", "target"}, "y");
  const Model model = file.read();
  EXPECT_EQ(only<Reshape>(model).shape, (Shape{kBatchExtent, 24}));
}

TEST(Onnx, TheAxisOfTheBatchMayBeTheOneThatAReshapeLeavesOpen) {
  const auto reshaped = [](const std::vector<std::int64_t>& target) {
    File file;
    file.input("x", {-1, 4, 2, 3}).output("y").integers("target", target);
    file.node("Reshape", {"x", "target"}, "y");
    return file;
  };
  EXPECT_EQ(only<Reshape>(reshaped({-1, 24}).read()).shape, (Shape{kBatchExtent, 24}));
  EXPECT_EQ(only<Reshape>(reshaped({-1, 0, 6}).read()).shape, (Shape{kBatchExtent, 4, 6}));
  expect_part(refusal(reshaped({-1, 12})), "N x 4 x 2 x 3 cannot be reshaped to N x 12");
}

TEST(Onnx, SlicesHaveStepsFromSet10On) {
  for (const int opset : {10, 17}) {
    File file(opset);
    file.input("x", {-1, 4, 1, 3}).output("y");
    file.integers("zero", {0}).integers("one", {1}).integers("two", {2}).integers("four", {4});
    file.node("Shape", {"x"}, "shape");
    file.node("Slice", {"shape", "zero", "one"}, "images");
    file.node("Slice", {"shape", "one", "four", "zero", "two"}, "rest");
    set(file.node("Concat", {"images", "rest"}, "target"), "axis", std::int64_t{0});
    file.node("Reshape", {"x", "target"}, "y");
    EXPECT_EQ(only<Reshape>(file.read()).shape, (Shape{kBatchExtent, 4, 3})) << opset;
  }
}

TEST(Onnx, BeforeSet7ADropoutIsForTrainingUnlessItSaysOtherwise) {
  const auto with_dropout = [](int opset) {
    File file(opset);
    file.input("x", {-1, 4}).output("y");
    file.node("Dropout", {"x"}, "kept");
    file.node("Relu", {"kept"}, "y");
    return refusal(file);
  };
  expect_part(with_dropout(6), "is_test is missing");
  EXPECT_EQ(with_dropout(7), "it was read");
}

TEST(Onnx, TheNumberOfImagesMayBeComputedWithAsLongAsItStays) {
  const auto reshaped_to = [](const std::string& type, const std::string& number) {
    File file;
    file.input("x", {-1, 4}).output("y").integers("zero", {0}).integers("one", {1}).integers("rest", {-1});
    file.integers("two", {2});
    file.node("Shape", {"x"}, "shape");
    file.node("Slice", {"shape", "zero", "one"}, "images");
    file.node(type, {"images", number}, "computed");
    set(file.node("Concat", {"computed", "rest"}, "target"), "axis", std::int64_t{0});
    file.node("Reshape", {"x", "target"}, "y");
    return refusal(file);
  };
  for (const char* const type : {"Add", "Sub", "Mul", "Div"}) {
    const bool sum = type == std::string("Add") || type == std::string("Sub");
    EXPECT_EQ(reshaped_to(type, sum ? "zero" : "one"), "it was read") << type;
    EXPECT_NE(reshaped_to(type, sum ? "one" : "two"), "it was read") << type;
  }
}

TEST(Onnx, BeforeSet7ASumSpreadsItsSecondInputOnlyWhereItSaysSo) {
  const auto added = [](bool broadcast) {
    File file(6);
    file.input("x", {-1, 2, 3}).floats("c", {2}, {1, 2}).output("y");
    onnx::NodeProto& node = file.node("Add", {"x", "c"}, "y");
    if (broadcast) set(node, "broadcast", std::int64_t{1});
    if (broadcast) set(node, "axis", std::int64_t{1});
    return refusal(file);
  };
  EXPECT_EQ(added(true), "it was read");
  EXPECT_EQ(added(false), "net.onnx: node 'y' (Add): N x 2 x 3 and 2 without the attribute broadcast");
}

TEST(Onnx, WeightsAreTransposedCutAndJoinedWhenRead) {
  File file;
  file.input("x", {-1, 2}).output("y").floats("w", {2, 2}, {1, 2, 3, 4}).integers("first", {0});
  file.node("Transpose", {"w"}, "t");                                         // 1 3; 2 4
  set(file.node("Gather", {"w", "first"}, "row"), "axis", std::int64_t{0});   // 1 2
  set(file.node("Concat", {"t", "row"}, "joined"), "axis", std::int64_t{0});  // 1 3; 2 4; 1 2
  set(file.node("Gemm", {"x", "joined"}, "y"), "transB", std::int64_t{1});
  const Model model = file.read();
  const auto& linear = only<Linear>(model);
  EXPECT_EQ(linear.weights.rows(), 3U);
  EXPECT_EQ(std::vector<float>(linear.weights->values.begin(), linear.weights->values.end()),
            (std::vector<float>{1, 3, 2, 4, 1, 2}));
}

TEST(Onnx, AConstantIsOneUnderAllItsNamesAndAnotherInEachShape) {
  File file;
  file.input("x", {-1, 2, 2}).floats("c", {2}, {1, 2}).integers("shape", {2, 1}).output("y");
  file.node("Identity", {"c"}, "same");
  file.node("Reshape", {"c", "shape"}, "column");
  file.node("Add", {"x", "same"}, "once");
  file.node("Add", {"once", "c"}, "twice");
  file.node("Add", {"twice", "column"}, "y");
  std::vector<std::string> constants;
  const Model model = file.read();
  for (const Value& value : model.values)
    if (value.constant) constants.push_back(value.name + " " + shape_text(value.shape));
  EXPECT_EQ(constants, (std::vector<std::string>{"c 2", "column 2 x 1"}));
}

TEST(Onnx, OneNumberAddedByAGemmIsTheBiasOfEachOutput) {
  File file;
  file.input("x", {-1, 2}).output("y").floats("w", {2, 3}, {1, 2, 3, 4, 5, 6}).floats("c", {1}, {0.5F});
  file.node("Gemm", {"x", "w", "c"}, "y");
  EXPECT_EQ(only<Linear>(file.read()).bias, (std::vector<float>{0.5F, 0.5F, 0.5F}));
}

TEST(Onnx, ASquareMatrixOfAGemmIsTransposedAsTheNodeSays) {
  for (const std::int64_t transposed : {0, 1}) {
    File file;
    file.input("x", {-1, 2}).output("y").floats("w", {2, 2}, {1, 2, 3, 4});
    set(file.node("Gemm", {"x", "w"}, "y"), "transB", transposed);
    const Model model = file.read();
    const auto& values = only<Linear>(model).weights->values;
    EXPECT_EQ(std::vector<float>(values.begin(), values.end()),
              transposed == 1 ? (std::vector<float>{1, 2, 3, 4}) : (std::vector<float>{1, 3, 2, 4}));
  }
}

TEST(Onnx, NodesAreOrderedAndThoseWithoutUseLeftOut) {
  File file;
  file.input("x", {-1, 2}).output("y");
  file.node("Tanh", {"h"}, "y");
  file.node("Relu", {"x"}, "h");
  file.node("Sigmoid", {"x"}, "unused");
  const Model model = file.read();
  ASSERT_EQ(model.nodes.size(), 2U);
  EXPECT_EQ(model.nodes[0].name, "h");
  EXPECT_EQ(model.nodes[1].name, "y");
  model.validate();
}

TEST(Onnx, BeforeSet13SoftmaxIsOfAllAxesFromOneOn) {
  const auto axes_of = [](int opset) {
    File file(opset);
    file.input("x", {-1, 2, 3}).output("y");
    set(file.node("Softmax", {"x"}, "y"), "axis", std::int64_t{1});
    const Model model = file.read();
    EXPECT_EQ(output_shape_of(model), (Shape{kBatchExtent, 2, 3}));
    return model.nodes.size() == 3 ? std::get<Reshape>(model.nodes[0].operation).shape : Shape();
  };
  EXPECT_EQ(axes_of(12), (Shape{kBatchExtent, 6}));
  EXPECT_EQ(axes_of(13), Shape());
}

/// The nodes that exporters write where a framework pads by -inf: `pads` before and after, then a MaxPool.
File surrounded_file(int opset, const std::vector<std::int64_t>& pads, const std::vector<std::int64_t>& shape) {
  constexpr float kLow = -std::numeric_limits<float>::infinity();
  File file(opset);
  file.input("x", shape).output("y");
  if (opset < 11) {
    onnx::NodeProto& pad = file.node("Pad", {"x"}, "p");
    set(pad, "pads", pads);
    set(pad, "value", kLow);
  } else {
    file.integers("pads", pads).floats("low", {}, {kLow}).node("Pad", {"x", "pads", "low"}, "p");
  }
  set(file.node("MaxPool", {"p"}, "y"), "kernel_shape", std::vector<std::int64_t>(shape.size() - 2, 3));
  return file;
}

TEST(Onnx, InfinityBelowAroundImagesIsPaddingOfTheMaxPoolThatReadsIt) {
  for (const int opset : {10, 17}) {
    File file = surrounded_file(opset, {0, 0, 1, 0, 0, 0, 2, 1}, {-1, 2, 4, 5});
    set(*file.graph().mutable_node(1), "pads", std::vector<std::int64_t>{0, 1, 0, 0});
    const Model model = file.read();
    const Pool& pool = only<Pool>(model);
    EXPECT_EQ(pool.window.pad_begin, (std::array<Index, 2>{1, 1}));
    EXPECT_EQ(pool.window.pad_end, (std::array<Index, 2>{2, 1}));
    EXPECT_EQ(output_shape_of(model), (Shape{kBatchExtent, 2, 5, 5}));
  }
  // SAME padding is of the image with its surrounding: 4 + 1 + 1 pixels become 3.
  File same = surrounded_file(17, {0, 0, 1, 0, 0, 1}, {-1, 2, 4});
  set(*same.graph().mutable_node(1), "auto_pad", "SAME_UPPER");
  set(*same.graph().mutable_node(1), "strides", std::vector<std::int64_t>{2});
  EXPECT_EQ(only<Pool>(same.read()).window.pad_begin, (std::array<Index, 2>{0, 1}));
  EXPECT_EQ(only<Pool>(same.read()).window.pad_end, (std::array<Index, 2>{0, 2}));
  EXPECT_EQ(output_shape_of(same.read()), (Shape{kBatchExtent, 2, 3}));
  // A Pad that adds nothing adds no infinity.
  EXPECT_EQ(surrounded_file(17, {0, 0, 0, 0, 0, -1}, {-1, 2, 4}).read().nodes.size(), 2U);
}

TEST(Onnx, InfinityAnywhereElseIsRefused) {
  const std::string pool = "net.onnx: node 'y' (MaxPool): ";
  const std::string pad = "net.onnx: node 'p' (Pad): ";
  File up = surrounded_file(17, {0, 0, 1, 0, 0, 1}, {-1, 2, 4});
  set(*up.graph().mutable_node(1), "ceil_mode", std::int64_t{1});
  EXPECT_EQ(refusal(up), pool + "attribute ceil_mode: 1 is not supported where the input is padded by -inf");
  File mean = surrounded_file(17, {0, 0, 1, 0, 0, 1}, {-1, 2, 4});
  mean.graph().mutable_node(1)->set_op_type("AveragePool");
  EXPECT_EQ(refusal(mean),
            "net.onnx: node 'y' (AveragePool): input 1 'p': it is padded with -inf, which only MaxPool accepts");
  EXPECT_EQ(refusal(surrounded_file(17, {0, 0, 1, 0, 0, 1}, {-1, 2, 4}).output("p")),
            "net.onnx: output 'p' is padded with -inf, which only MaxPool accepts");
  EXPECT_EQ(refusal(surrounded_file(17, {0, 1, 0, 0, 0, 0}, {-1, 2, 4})),
            pad +
                "pads: -inf around axis 1 of N x 2 x 4 is not supported; in front of a MaxPool it may be added to one "
                "or two spatial axes");
  File wrong = surrounded_file(17, {0, 0, 1, 0, 0, 1}, {-1, 2, 4});
  wrong.graph().mutable_initializer(1)->set_raw_data(std::string("\0\0\x80\x7f", 4));
  EXPECT_EQ(refusal(wrong), pad + "input 3 'low': inf is neither finite nor -inf");
  File old = surrounded_file(10, {0, 0, 1, 0, 0, 1}, {-1, 2, 4});
  old.graph().mutable_node(0)->mutable_attribute(1)->set_f(std::numeric_limits<float>::infinity());
  EXPECT_EQ(refusal(old), pad + "attribute value: inf is neither finite nor -inf");
  File wide = surrounded_file(17, {0, 0, 3, 0, 0, 0}, {-1, 2, 4});
  EXPECT_EQ(refusal(wide), pool + "a window of the pool lies in the padding alone");
}

TEST(Onnx, BoundsOfAClipThatCrossAreTheUpperOne) {
  File file;
  file.input("x", {-1, 2})
      .output("y")
      .floats("low", {}, {3})
      .floats("lowest", {}, {-std::numeric_limits<float>::infinity()});
  file.floats("two", {}, {2});
  file.node("Clip", {"x", "low", "two"}, "y");
  EXPECT_EQ(only<Activation>(file.read()).low, 2);
  file.graph().mutable_node(0)->set_input(1, "lowest");
  EXPECT_EQ(only<Activation>(file.read()).low, std::numeric_limits<float>::lowest());
}

TEST(Onnx, TheShapeThatIsGivenFillsOpenAxes) {
  File file;
  file.input("x", {-1, 3, -1, -1}).output("y");
  file.node("Relu", {"x"}, "y");
  EXPECT_EQ(refusal(file),
            "net.onnx: input 'x': axes 2 ('open'), 3 ('open') of open x 3 x open x open have no fixed length; give the "
            "shape of the input");
  EXPECT_EQ(output_shape_of(file.read(Shape{kBatchExtent, 3, 48, 192})), (Shape{kBatchExtent, 3, 48, 192}));
  EXPECT_EQ(output_shape_of(file.read(Shape{8, 3, 48, 192})), (Shape{8, 3, 48, 192}));
  const std::vector<std::pair<Shape, const char*>> cases{
      {{8, 4, 48, 192}, "shape: 8 x 4 x 48 x 192, but axis 1 of input 'x' has the length 3"},
      {{8, 3, 48}, "shape: 8 x 3 x 48 for input 'x' of 4 axes"},
      {{8, 3, 48, -1}, "shape: 8 x 3 x 48 x N, expected lengths of 1..2147483647"},
      {{8, 3, 0, 7}, "shape: 8 x 3 x 0 x 7, expected lengths of 1..2147483647"},
      {{8, 3, 7, 2147483648}, "shape: 8 x 3 x 7 x 2147483648, expected lengths of 1..2147483647"},
      {{0, 3, 7, 9}, "shape: 0 x 3 x 7 x 9, expected lengths of 1..2147483647"}};
  for (const auto& [shape, problem] : cases) EXPECT_EQ(refusal(file, shape), problem);
}

TEST(Onnx, InputsAreOfTypesThatFp32NumbersAreReadFrom) {
  std::string read;
  for (int type = 1; type <= 16; ++type) {
    File file;
    file.input("x", {2}).output("y");
    file.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(type);
    set(file.node("Cast", {"x"}, "y"), "to", std::int64_t{1});
    const std::string problem = refusal(file);
    if (problem == "it was read")
      read += fmt::format("{} ", type);
    else
      read += problem.substr(problem.find("are ") + 4, 6) + " ";
  }
  EXPECT_EQ(read, "1 2 3 4 5 6 7 STRING BOOL,  10 11 UINT32 UINT64 COMPLE COMPLE 16 ");
}

/// Weights without their zeros are the same weights, whatever reads them.
TEST(Onnx, SparseInitializersAreReadAsDenseOnes) {
  const std::vector<float> numbers{0, 2, 0, 0, -1, 0, 0, 0, 0, 0.5F, 0, 3};
  const auto text = [&](const std::string& type, const std::vector<std::int64_t>& shape, int form) {
    File file;
    const bool images = shape.size() == 4;
    file.input("x", images ? std::vector<std::int64_t>{-1, 2, 5, 5} : std::vector<std::int64_t>{-1, shape[0]})
        .output("y");
    if (form == 0)
      file.floats("w", shape, numbers);
    else
      file.sparse_floats("w", shape, numbers, form == 2);
    file.node(type, {"x", "w"}, "y");
    return testing::ModelText::of(file.read(), true);
  };
  const std::vector<std::pair<std::string, std::vector<std::int64_t>>> cases{
      {"Conv", {3, 2, 1, 2}}, {"ConvTranspose", {2, 3, 2, 1}}, {"MatMul", {4, 3}}, {"Gemm", {6, 2}}, {"Add", {1, 12}}};
  for (const auto& [type, shape] : cases) {
    const bool add = type == "Add";
    const std::vector<std::int64_t> lengths = add ? std::vector<std::int64_t>{12} : shape;
    EXPECT_EQ(text(type, lengths, 1), text(type, lengths, 0)) << type;
    EXPECT_EQ(text(type, lengths, 2), text(type, lengths, 0)) << type;
  }
}

TEST(Onnx, SparseInitializersMayStoreZerosOrNothing) {
  File file;
  file.input("x", {-1, 2}).output("y").sparse_floats("w", {2, 3}, {1, 2, 0, 0, 0, 3}, false);
  file.node("MatMul", {"x", "w"}, "y");
  onnx::SparseTensorProto& sparse = *file.graph().mutable_sparse_initializer(0);
  sparse.mutable_values()->set_float_data(1, 0);
  EXPECT_EQ(only<Linear>(file.read()).weights.csr().entries(), 2U);
  for (onnx::TensorProto* const list : {sparse.mutable_values(), sparse.mutable_indices()}) {
    list->set_dims(0, 0);
    list->clear_float_data();
    list->clear_int64_data();
  }
  EXPECT_EQ(only<Linear>(file.read()).weights.csr().entries(), 0U);
}

/// They are not made dense on the way: this one would take 16 GB, and a file may not ask for that.
TEST(Onnx, SparseWeightsStaySparse) {
  File file;
  file.input("x", {-1, 64000}).output("y").sparse_floats("w", {2, 2}, {1, 0, 0, 2}, false);
  onnx::SparseTensorProto& sparse = *file.graph().mutable_sparse_initializer(0);
  for (int axis : {0, 1}) sparse.set_dims(axis, 64000);
  file.node("MatMul", {"x", "w"}, "y");
  EXPECT_EQ(only<Linear>(file.read()).weights.csr().entries(), 2U);
  file.graph().mutable_node(0)->set_op_type("Add");
  expect_part(refusal(file), "the constants take far more memory than the file has bytes");
  file.graph().mutable_node(0)->set_op_type("MatMul");
  for (const int axis : {1, 0}) {
    sparse.set_dims(axis, std::int64_t{1} << 31U);
    expect_part(refusal(file), "an axis is longer than 2^31-1");
    sparse.set_dims(axis, 64000);
  }
}

TEST(Onnx, ExternalDataAreReadFromTheFolderOfTheModel) {
  const TemporaryDirectory directory;
  std::filesystem::create_directory(directory / "net");
  std::ofstream(directory / "net/weights.bin", std::ios::binary) << std::string(4, 'x') << std::string("\0\0\x80?", 4);
  std::ofstream(directory / "outside.bin", std::ios::binary) << std::string(8, 'x');
  std::filesystem::create_symlink(directory / "outside.bin", directory / "net/link.bin");
  const auto read = [&](const std::string& location, const char* offset, const char* length) -> std::string {
    File file;
    file.input("x", {-1, 1}).output("y");
    onnx::TensorProto& tensor = file.tensor("w", {1, 1}, onnx::TensorProto::FLOAT);
    tensor.set_data_location(onnx::TensorProto::EXTERNAL);
    for (const auto& [key, value] : {std::pair<std::string, std::string>{"location", location},
                                     {"offset", offset},
                                     {"length", length},
                                     {"checksum", "unread"}}) {
      auto& entry = *tensor.add_external_data();
      entry.set_key(key);
      entry.set_value(value);
    }
    file.node("MatMul", {"x", "w"}, "y");
    file.write(directory / "net/net.onnx");
    try {
      const Model model = read_onnx(directory / "net/net.onnx");
      return std::to_string(std::get<Linear>(model.nodes.at(0).operation).weights->values[0]);
    } catch (const DataError& error) {
      return error.what();
    }
  };
  EXPECT_EQ(read("weights.bin", "4", "4"), "1.000000");
  EXPECT_EQ(read("./weights.bin", "4", "4"), "1.000000");
  expect_part(read("weights.bin", "5", "4"), "net.onnx: initializer 'w': external data: bytes 5 to 9 lie ");
  expect_part(read("weights.bin", "18446744073709551615", "4"), "lie beyond the 8 of 'weights.bin'");
  expect_part(read("weights.bin", "four", "4"), "offset 'four' is not a number");
  expect_part(read("weights.bin", "0", "8"), "8 bytes where the shape and type need 4");
  expect_part(read("none.bin", "0", "4"), "none.bin: cannot read");
  expect_part(read("../net", "0", "4"), "is a directory");
  expect_part(read("", "0", "4"), "no location");
  expect_part(read({"weights.bin\0", 12}, "4", "4"), "no location");
  std::filesystem::create_symlink("net.onnx", directory / "net/same.bin");
  for (const std::string itself : {"net.onnx", "./net.onnx", "same.bin"})
    expect_part(read(itself, "0", "4"), "external data: '" + itself + "' is the model itself, expected another file");
  for (const std::string& outside :
       {std::string("../outside.bin"), std::string("link.bin"), (directory / "net/weights.bin").string()})
    expect_part(read(outside, "0", "4"), "lies outside the folder of the model");
}

TEST(Onnx, FilesThatAreWrittenToWhileTheyAreReadAreRefused) {
  const TemporaryDirectory directory;
  const auto touch = [](const std::filesystem::path& path) {
    last_write_time(path, last_write_time(path) + std::chrono::seconds(2));
  };
  const auto path = directory / "net.onnx";
  conv_file().write(path);
  const InputFile file(path);
  EXPECT_NO_THROW(read_onnx(file));
  touch(path);
  expect_refused(path, "changed while it was being read: it was written to", [&] { read_onnx(file); });

  const auto weights = directory / "weights.bin";
  std::ofstream(weights, std::ios::binary) << std::string(8, '\0');
  onnx::TensorProto tensor;
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  tensor.add_dims(2);
  tensor.set_data_location(onnx::TensorProto::EXTERNAL);
  auto& location = *tensor.add_external_data();
  location.set_key("location");
  location.set_value("weights.bin");
  Budget budget("net.onnx", 1);
  onnx_reader::TensorReader tensors("net.onnx", directory.path(), budget);
  EXPECT_EQ(tensors.read(tensor, "w").size(), 2U);
  EXPECT_NO_THROW(tensors.check_unchanged());
  touch(weights);
  expect_refused(weights, "changed while it was being read", [&] { tensors.check_unchanged(); });
}

TEST(Onnx, TheClassifierOfTheOcrIsRead) {
  const auto path = shared_data("cnn/ch_ppocr_mobile_v2.0_cls_infer.onnx");
  if (!exists(path)) GTEST_SKIP() << path << " is absent";
  const Model model = read_onnx(path, Shape{kBatchExtent, 3, 48, 192});
  model.validate();
  const auto count = [&]<class Kind>(std::type_identity<Kind>) {
    return std::count_if(model.nodes.begin(), model.nodes.end(),
                         [](const Node& node) { return std::holds_alternative<Kind>(node.operation); });
  };
  EXPECT_EQ(count(std::type_identity<Convolution>()), 53);
  EXPECT_EQ(count(std::type_identity<BatchNorm>()), 35);
  EXPECT_EQ(output_shape_of(model), (Shape{kBatchExtent, 2}));
  EXPECT_EQ(count(std::type_identity<Reshape>()), 1);
}

}  // namespace
}  // namespace spdnn
