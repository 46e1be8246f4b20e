// ONNX files that are damaged, inconsistent or not supported are refused with one message that names the fault.

#include <gtest/gtest.h>

#include <limits>

#include "spdnn/error.hpp"
#include "support/message_of.hpp"
#include "support/onnx_file.hpp"
#include "temporary_directory.hpp"

namespace spdnn {
namespace {

using onnx_test::expect_part;
using onnx_test::File;
using onnx_test::refusal;
using onnx_test::set;
using Integers = std::vector<std::int64_t>;

constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();

/// x (N x 4 x 5 x 5) -> Conv of 2 groups -> y.
struct ConvFile : File {
  explicit ConvFile(const Integers& shape = {2, 2, 3, 3}, std::size_t weights = 36) {
    input("x", {-1, 4, 5, 5}).floats("w", shape, std::vector<float>(weights, 1)).output("y");
    node("Conv", {"x", "w"}, "y");
  }
  onnx::NodeProto& conv() { return *graph().mutable_node(0); }
};

TEST(OnnxHostile, AFileThatEndsEarlyIsRefused) {
  ConvFile file;
  set(file.conv(), "group", std::int64_t{2});
  (void)file.read();
  const std::string whole = file.bytes();
  for (std::size_t size = 0; size < whole.size(); size += 7) {
    const std::string part = whole.substr(0, size);
    try {
      (void)read_onnx(InputFile("net.onnx", std::as_bytes(std::span(part))));
      ADD_FAILURE() << size << " of " << whole.size() << " bytes were read";
    } catch (const DataError& error) {
      expect_part(error.what(), "net.onnx: ");
    }
  }
}

TEST(OnnxHostile, AChangedByteNeverEndsInAnythingButAMessage) {
  ConvFile file;
  set(file.conv(), "group", std::int64_t{2});
  const std::string whole = file.bytes();
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const int change : {1, 0x80, 0xFF}) {
      std::string changed = whole;
      changed[at] = static_cast<char>(changed[at] ^ change);
      try {
        (void)read_onnx(InputFile("net.onnx", std::as_bytes(std::span(changed))));
      } catch (const DataError& error) {
        expect_part(error.what(), "net.onnx: ");
      }
    }
  }
}

TEST(OnnxHostile, MessagesInMessagesDoNotExhaustTheStack) {
  onnx::ModelProto proto = ConvFile().proto;
  onnx::GraphProto* graph = proto.mutable_graph();
  for (int depth = 0; depth < 1000; ++depth) graph = graph->add_node()->add_attribute()->mutable_g();
  File file;
  file.proto = proto;
  expect_part(refusal(file), "protobuf cannot read it");
}

TEST(OnnxHostile, VersionsOutsideTheRangeAreRefused) {
  ConvFile file;
  file.proto.set_ir_version(2);
  EXPECT_EQ(refusal(file), "net.onnx: version 2 of the format (IR) is outside 3..10");
  file.proto.set_ir_version(11);
  EXPECT_EQ(refusal(file), "net.onnx: version 11 of the format (IR) is outside 3..10");
  file.proto.set_ir_version(8);
  file.proto.mutable_opset_import(0)->set_version(22);
  EXPECT_EQ(refusal(file), "net.onnx: operator set 22 is outside 1..21");
  file.proto.clear_opset_import();
  EXPECT_EQ(refusal(file), "net.onnx: it names no version of ONNX's operator set");
  file.proto.clear_graph();
  EXPECT_EQ(refusal(file), "net.onnx: not an ONNX file: it has no version or no graph");
}

TEST(OnnxHostile, TensorsThatAreNotWhatTheySayAreRefused) {
  EXPECT_EQ(refusal(ConvFile({2, 2, 3, 3}, 35)),
            "net.onnx: initializer 'w': 140 bytes of raw_data where 2 x 2 x 3 x 3 of FLOAT need 144");
  expect_part(refusal(ConvFile({kLargest, kLargest, 3, 3})), "exceed the address space");
  expect_part(refusal(ConvFile({1LL << 40, 1LL << 19, 1, 1})), "initializer 'w'");
  EXPECT_EQ(refusal(ConvFile({2, -2, 3, 3})), "net.onnx: initializer 'w': an axis of length -2");
  expect_part(refusal(ConvFile({kLargest, 0, 3, 3}, 0)), "empty tensors are supported only with one axis");
  expect_part(refusal(ConvFile({1, 1, 1, 1, 1, 1, 1, 1, 36})), "9 axes are more than 8");
  ConvFile typed;
  typed.graph().mutable_initializer(0)->set_data_type(onnx::TensorProto::STRING);
  expect_part(refusal(typed), "initializer 'w': STRING is not supported: expected FLOAT, DOUBLE, ");
  typed.graph().mutable_initializer(0)->set_data_type(77);
  expect_part(refusal(typed), "initializer 'w': type 77 is not supported");
  typed.graph().mutable_initializer(0)->set_data_type(onnx::TensorProto::INT32);
  expect_part(refusal(typed), "node 'y' (Conv): input 2 'w': it has integers, expected floating-point numbers");
}

TEST(OnnxHostile, WeightsThatAreNotFiniteAreRefused) {
  for (const float odd : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    File file;
    file.input("x", {-1, 1}).floats("w", {1, 2}, {1, odd}).output("y");
    file.node("MatMul", {"x", "w"}, "y");
    expect_part(refusal(file), "node 'y' (MatMul): input 2 'w': number 2 is ");
  }
}

TEST(OnnxHostile, AttributesOfConvThatDoNotFitAreRefused) {
  const auto with = [](const std::string& name, auto value) {
    ConvFile file;
    set(file.conv(), name, value);
    return refusal(file);
  };
  const std::string node = "net.onnx: node 'y' (Conv): ";
  EXPECT_EQ(with("group", std::int64_t{3}), node + "attribute group: 3 does not divide the 2 output channels");
  EXPECT_EQ(with("group", std::int64_t{0}), node + "attribute group: 0 does not divide the 2 output channels");
  EXPECT_EQ(with("group", std::int64_t{1}),
            node + "attribute group: the weights are for 1 groups of 2 channels, but the input has 4 channels");
  EXPECT_EQ(with("strides", Integers{0, 1}), node + "attribute strides: 0 is outside 1..2147483647");
  EXPECT_EQ(with("strides", Integers{1}), node + "attribute strides: 1 numbers, expected 2");
  EXPECT_EQ(with("pads", Integers{0, 0, -1, 0}), node + "attribute pads: -1 is outside 0..2147483647");
  EXPECT_EQ(with("kernel_shape", Integers{3, 2}), node + "attribute kernel_shape: 3 x 2, but the weights have 3 x 3");
  EXPECT_EQ(with("auto_pad", "SAME"),
            node + "attribute auto_pad: 'SAME' is none of NOTSET, SAME_UPPER, SAME_LOWER, VALID");
  EXPECT_EQ(with("strides", "fast"), node + "attribute strides: it is of type STRING, expected INTS");
  expect_part(with("dilations", Integers{2147483647, 2147483647}), "net.onnx: node 'y' (Conv): ");
  ConvFile file;
  set(file.conv(), "group", std::int64_t{2});
  set(file.conv(), "fused_relu", std::int64_t{1});
  EXPECT_EQ(refusal(file), node +
                               "attribute fused_relu: not supported; supported attributes: auto_pad, dilations, group, "
                               "kernel_shape, pads, strides");
}

TEST(OnnxHostile, FiltersThatAreNoneAreRefused) {
  File stored;
  stored.input("x", {-1, 1, 4, 4}).floats("w", {0, 1, 1, 1}, {}).output("y");
  stored.node("Conv", {"x", "w"}, "y");
  EXPECT_EQ(refusal(stored),
            "net.onnx: initializer 'w': 0 x 1 x 1 x 1: empty tensors are supported only with one axis");
  File made;
  made.input("x", {-1, 1, 4, 4}).floats("all", {2, 1, 1, 1}, {1, 2}).integers("zero", {0}).output("y");
  made.node("Slice", {"all", "zero", "zero"}, "w");
  made.node("Conv", {"x", "w"}, "y");
  EXPECT_EQ(refusal(made),
            "net.onnx: node 'w' (Slice): the result is a constant of shape 0 x 1 x 1 x 1, which has no elements");
}

TEST(OnnxHostile, ASumWithARowOfAnotherLengthIsNoGemm) {
  File file;
  file.input("x", {-1, 2}).floats("w", {2, 4}, std::vector<float>(8, 1)).floats("c", {3}, {1, 2, 3});
  file.output("y").node("Gemm", {"x", "w", "c"}, "y");
  EXPECT_EQ(refusal(file), "net.onnx: node 'y' (Gemm): N x 4 and 3 do not fit");
}

TEST(OnnxHostile, ASumThatIsLargerThanTheProductIsNoGemm) {
  File file;
  file.input("x", {1, 2}).floats("w", {2, 4}, std::vector<float>(8, 1)).floats("c", {3, 4}, std::vector<float>(12, 1));
  file.output("y").node("Gemm", {"x", "w", "c"}, "y");
  EXPECT_EQ(refusal(file), "net.onnx: node 'y' (Gemm): input 3 'c': 3 x 4 cannot be added to 1 x 4");
}

TEST(OnnxHostile, OutputsThatSeveralNodesLeaveOutAreNoValue) {
  File file;
  file.input("x", {-1, 2}).output("y");
  file.node("Relu", {"x"}, "a").add_output("");
  file.node("Tanh", {"a"}, "y").add_output("");
  EXPECT_NO_THROW(file.read());
}

TEST(OnnxHostile, GraphsThatAreNoneAreRefused) {
  const auto of = [](auto build) {
    File file;
    file.input("x", {-1, 2}).output("y");
    build(file);
    return refusal(file);
  };
  EXPECT_EQ(of([](File& file) {
              file.node("Add", {"x", "b"}, "a");
              file.node("Relu", {"a"}, "b");
              file.node("Relu", {"b"}, "y");
            }),
            "net.onnx: node 'a' (Add): it depends on its own output: the graph has a cycle");
  EXPECT_EQ(of([](File& file) {
              file.node("Relu", {"x"}, "y");
              file.node("Tanh", {"x"}, "y");
            }),
            "net.onnx: node 'y' (Tanh): output 'y' is also made by node 'y' (Relu)");
  EXPECT_EQ(of([](File& file) {
              file.node("Relu", {"x"}, "y").clear_name();
              file.node("Tanh", {"x"}, "y").clear_name();
            }),
            "net.onnx: node '#2' (Tanh): output 'y' is also made by node '#1' (Relu)");
  EXPECT_EQ(of([](File& file) { file.node("Relu", {"x"}, "x"); }),
            "net.onnx: node 'x' (Relu): output 'x' is also an input or initializer");
  EXPECT_EQ(of([](File& file) { file.node("Relu", {"z"}, "y"); }),
            "net.onnx: node 'y' (Relu): input 'z' is neither made by a node nor an input or initializer");
  EXPECT_EQ(of([](File&) {}), "net.onnx: no node makes output 'y'");
  EXPECT_EQ(of([](File& file) { file.input("x", {2}).node("Relu", {"x"}, "y"); }),
            "net.onnx: input 'x' has an empty or repeated name");
  EXPECT_EQ(of([](File& file) { file.node("Relu", {}, "y"); }), "net.onnx: node 'y' (Relu): 0 inputs, expected 1..1");
  EXPECT_EQ(of([](File& file) { file.node("Relu", {""}, "y"); }), "net.onnx: node 'y' (Relu): input 1 is missing");
  EXPECT_EQ(of([](File& file) { file.node("Dropout", {"x"}, "").add_output("y"); }),
            "net.onnx: node '#1' (Dropout): it has no first output");
  EXPECT_EQ(of([](File& file) { file.input("", {2}).node("Relu", {"x"}, "y"); }),
            "net.onnx: input '' has an empty or repeated name");
}

/// x (2 x 3) -> Relu -> y.
File relu() {
  File file;
  file.input("x", {2, 3}).output("y");
  file.node("Relu", {"x"}, "y");
  return file;
}

TEST(OnnxHostile, WhatAFileHasBesideItsGraphIsRefused) {
  File file = relu();
  file.proto.add_functions()->set_name("f");
  expect_part(refusal(file), "functions defined in the file are not supported");
  file = relu();
  onnx::OperatorSetIdProto& again = *file.proto.add_opset_import();
  again.set_domain("ai.onnx");
  again.set_version(17);
  expect_part(refusal(file), "it names two versions of ONNX's operator set");
  file = relu();
  file.floats("w", {3}, {1, 2, 3}).node("Add", {"x", "w"}, "z");
  file.output("z").graph().mutable_initializer(0)->mutable_segment()->set_begin(0);
  expect_part(refusal(file), "initializer 'w': tensors in segments are not supported");
}

TEST(OnnxHostile, AGivenShapeIsThatOfOneInputWhoseBatchMayChange) {
  const Model model = relu().read(Shape{5, 3});
  EXPECT_EQ(model.values[model.inputs[0]].shape, (Shape{5, 3}));
  File file = relu();
  file.input("z", {2, 3}).node("Neg", {"z"}, "w");
  file.output("w");
  EXPECT_EQ(testing::message_of<UsageError>([&] {
              (void)file.read(Shape{5, 3});
            }),
            "shape: a shape can be given only for a single input, and the model has 2 inputs");
}

TEST(OnnxHostile, AnOutputThatIsNamedTwiceIsTwoValues) {
  const Model model = relu().output("y").read();
  ASSERT_EQ(model.outputs.size(), 2U);
  EXPECT_NE(model.outputs[0], model.outputs[1]);
}

TEST(OnnxHostile, SparseInitializersThatLieAreRefused) {
  const auto of = [](auto change, bool by_axis = false) {
    File file;
    file.input("x", {-1, 2}).output("y").sparse_floats("w", {2, 3}, {1, 2, 0, 0, 0, 3}, by_axis);
    file.node("MatMul", {"x", "w"}, "y");
    change(*file.graph().mutable_sparse_initializer(0));
    return refusal(file);
  };
  const std::string what = "net.onnx: initializer 'w': ";
  using Sparse = onnx::SparseTensorProto;
  for (const std::int64_t place : {-1, 6})
    EXPECT_EQ(of([&](Sparse& w) { w.mutable_indices()->set_int64_data(2, place); }),
              what + "the index of its value 2 lies outside 2 x 3");
  EXPECT_EQ(of([](Sparse& w) { w.mutable_indices()->set_int64_data(1, 3); }, true),
            what + "the index of its value 0 lies outside 2 x 3");
  EXPECT_EQ(of([](Sparse& w) { w.mutable_indices()->set_int64_data(1, 0); }),
            what + "its indices do not ascend at value 1");
  EXPECT_EQ(of([](Sparse& w) { w.mutable_indices()->set_int64_data(3, 0); }, true),
            what + "its indices do not ascend at value 1");
  EXPECT_EQ(of([](Sparse& w) { w.set_dims(0, 0); }), what + "0 x 3: empty tensors are not supported");
  EXPECT_EQ(of([](Sparse& w) { w.set_dims(0, -2); }), what + "an axis of length -2");
  EXPECT_EQ(of([](Sparse& w) { w.mutable_values()->set_data_type(onnx::TensorProto::STRING); }),
            what.substr(0, what.size() - 2) +
                ": values: STRING is not supported: expected FLOAT, DOUBLE, FLOAT16, BFLOAT16, INT64, INT32, "
                "INT16, INT8, UINT16, UINT8 or BOOL");
  EXPECT_EQ(of([](Sparse& w) {
              w.mutable_values()->add_float_data(4);
              w.mutable_values()->set_dims(0, 4);
            }),
            what + "4 values and 3 indices");
  EXPECT_EQ(of([](Sparse& w) { w.mutable_indices()->add_dims(1); }),
            what + "its indices are of shape 3 x 1, expected one or 2 for each value");
  expect_part(of([](Sparse& w) {
                w.mutable_indices()->clear_dims();
                w.mutable_indices()->mutable_int64_data()->Resize(1, 0);
              }),
              what + "its indices are of shape ");
  EXPECT_EQ(of([](Sparse& w) { w.mutable_indices()->set_dims(1, 3); }, true),
            what + "indices: 6 elements where 3 x 3 of INT64 need 9");
  EXPECT_EQ(of([](Sparse& w) {
              w.mutable_indices()->add_dims(1);
              w.mutable_indices()->add_dims(1);
            }),
            what + "its indices are of shape 3 x 1 x 1, expected one or 2 for each value");
  EXPECT_EQ(of([](Sparse& w) {
              w.mutable_indices()->set_data_type(onnx::TensorProto::FLOAT);
              for (const float place : {0.F, 1.F, 5.F}) w.mutable_indices()->add_float_data(place);
            }),
            what + "its indices are not integers");
  EXPECT_EQ(of([](Sparse& w) {
              w.mutable_values()->set_data_type(onnx::TensorProto::INT64);
              for (const std::int64_t value : {1, 2, 3}) w.mutable_values()->add_int64_data(value);
            }),
            what + "its values are integers, expected floating-point numbers");
  EXPECT_EQ(of([](Sparse& w) { w.mutable_values()->add_dims(1); }), what + "3 values and 3 indices");
  EXPECT_EQ(of([](Sparse& w) { w.mutable_values()->set_name("x"); }),
            "net.onnx: node 'y' (MatMul): input 'w' is neither made by a node nor an input or initializer");
  EXPECT_EQ(of([](Sparse& w) { w.mutable_values()->set_float_data(0, std::numeric_limits<float>::quiet_NaN()); }),
            "net.onnx: node 'y' (MatMul): input 2 'w': number 1 is nan, expected finite numbers");
}

/// Operators are listed in the order of the file, each with its first node. Readers of a refused node's output are not
/// counted, as its shape is unknown.
TEST(OnnxHostile, AllThatIsNotSupportedIsNamedAtOnce) {
  File file;
  file.input("x", {-1, 2, 4, 4}).output("y");
  file.node("TopK", {"x"}, "a");
  file.node("Relu", {"x"}, "b").set_domain("com.microsoft");
  set(file.node("Pad", {"a"}, "c"), "mode", "mirror");
  set(file.node("Pad", {"x"}, "d"), "mode", "mirror");
  file.node("TopK", {"c"}, "e");
  file.node("Concat", {"b", "d", "e"}, "y");
  expect_part(
      refusal(file),
      "net.onnx: 4 nodes are not supported: 2 TopK, the first node 'a'; 1 Relu, node 'b': operators of "
      "'com.microsoft' are not supported, only those of ONNX; 1 Pad, node 'd': attribute mode: 'mirror' is none of "
      "constant, edge, reflect, wrap; supported operators: Abs, ");
  // Without a shape for the input they are named, too.
  file.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(2)->clear_value();
  expect_part(refusal(file),
              "net.onnx: 3 nodes are not supported: 2 TopK, the first node 'a'; 1 Relu, node 'b': operators of "
              "'com.microsoft' are not supported, only those of ONNX; supported operators: Abs, ");
}

TEST(OnnxHostile, WhatIsNotSupportedIsNamed) {
  const auto of = [](auto build) {
    File file;
    file.input("x", {-1, 2, 4, 4}).output("y");
    build(file);
    return refusal(file);
  };
  expect_part(of([](File& file) { file.node("If", {"x"}, "y").add_attribute()->mutable_g(); }),
              "net.onnx: node 'y' (If): the operator is not supported; supported operators: Abs, Acos, ");
  EXPECT_EQ(of([](File& file) { file.node("Relu", {"x"}, "y").set_domain("com.microsoft"); }),
            "net.onnx: node 'y' (Relu): operators of 'com.microsoft' are not supported, only those of ONNX");
  EXPECT_EQ(of([](File& file) { file.node("Upsample", {"x"}, "y"); }),
            "net.onnx: node 'y' (Upsample): the operator is supported in the sets 7..9, and the file has 17");
  EXPECT_EQ(of([](File& file) { set(file.node("Resize", {"x"}, "y"), "mode", "area"); }),
            "net.onnx: node 'y' (Resize): attribute mode: 'area' is not supported; expected nearest, linear or cubic");
  EXPECT_EQ(of([](File& file) { set(file.node("Pad", {"x"}, "y"), "mode", "mirror"); }),
            "net.onnx: node 'y' (Pad): attribute mode: 'mirror' is none of constant, edge, reflect, wrap");
  EXPECT_EQ(
      of([](File& file) {
        set(file.node("Transpose", {"x"}, "y"), "perm", Integers{1, 0, 2, 3});
      }),
      "net.onnx: node 'y' (Transpose): attribute perm: the batch axis must stay axis 0; give the batch a fixed size");
  expect_part(of([](File& file) {
                file.integers("to", {1, -1}).node("Reshape", {"x", "to"}, "y");
              }),
              "the batch has no fixed size");
}

TEST(OnnxHostile, AFewBytesDoNotTakeMuchMemory) {
  File joined;
  joined.input("x", {-1, 1}).floats("c0", {256}, std::vector<float>(256, 1)).output("y");
  for (int i = 0; i < 40; ++i) {
    const std::string from = "c" + std::to_string(i);
    set(joined.node("Concat", {from, from}, "c" + std::to_string(i + 1)), "axis", std::int64_t{0});
  }
  joined.node("Add", {"x", "c40"}, "y");
  expect_part(refusal(joined), "the constants take far more memory than the file has bytes");

  // 64 MiB and little more may be taken; a product is computed in fp64 and in 64-bit integers, which 2100 x 2100
  // numbers exceed.
  for (const std::int64_t length : {60000, 2100}) {
    const std::vector<float> ones(static_cast<std::size_t>(length), 1);
    File spread;
    spread.input("x", {-1, 1}).floats("row", {1, length}, ones).floats("column", {length, 1}, ones).output("y");
    spread.node("Mul", {"row", "column"}, "square");
    spread.node("Add", {"x", "square"}, "y");
    expect_part(refusal(spread), "the constants take far more memory than the file has bytes");
  }
}

TEST(OnnxHostile, FilesThatAreNoneAreNamed) {
  const TemporaryDirectory directory;
  std::filesystem::create_directory(directory / "folder.onnx");
  EXPECT_THROW(read_onnx(directory / "folder.onnx"), DataError);
  EXPECT_THROW(read_onnx(directory / "none.onnx"), DataError);
  std::ofstream(directory / "text.onnx") << "neither protobuf nor anything else";
  EXPECT_THROW(read_onnx(directory / "text.onnx"), DataError);
  std::ofstream(directory / "empty.onnx").close();
  EXPECT_THROW(read_onnx(directory / "empty.onnx"), DataError);
}

}  // namespace
}  // namespace spdnn
