// Parts of a Model that ONNX expresses in another way, and refusals of the writer.

#include <gtest/gtest.h>

#include <set>
#include <variant>

#include "io/files/input_file.hpp"
#include "io/models/model_file.hpp"
#include "io/models/onnx/proto.hpp"
#include "io/models/onnx/reader.hpp"
#include "io/models/onnx/write/graph.hpp"
#include "io/models/onnx/writer.hpp"
#include "model/graph/quantised.hpp"
#include "model/graph/remove_unread.hpp"
#include "model/oracle/evaluate.hpp"
#include "prune/quantise.hpp"
#include "prune/quantise_values.hpp"
#include "spdnn/files.hpp"
#include "spdnn/model_inference.hpp"
#include "support/hostile_files.hpp"
#include "support/model_text.hpp"
#include "support/models.hpp"
#include "support/onnx_file.hpp"
#include "temporary_directory.hpp"

namespace spdnn {
namespace {

using testing::ModelBuilder;
using testing::ModelText;
using testing::Rng;

class WrittenOnnx : public ::testing::Test {
 protected:
  Model again(const Model& model) const {
    write_onnx(path_, model);
    return read_onnx(path_);
  }
  /// The bytes of the file.
  std::string written(const Model& model) const {
    write_onnx(path_, model);
    return text_of_file(path_);
  }
  onnx::ModelProto proto(const Model& model) const {
    onnx::ModelProto found;
    EXPECT_TRUE(found.ParseFromString(written(model)));
    return found;
  }
  /// The operators of a model of one operation.
  std::string operators(Operation operation, const Shape& input) const {
    ModelBuilder builder;
    const ValueId x = builder.input(input);
    const onnx::ModelProto found = proto(builder.finish({builder.add(std::move(operation), {x})}));
    std::string names;
    for (const onnx::NodeProto& node : found.graph().node()) names += (names.empty() ? "" : " ") + node.op_type();
    return names;
  }
  /// The small network with a larger window of its pool, of which rounding up adds one; shapes stay.
  static Model small_network(std::uint32_t seed) {
    Model model = testing::small_network(seed, 0.3).model;
    for (Node& node : model.nodes)
      if (auto* const pool = std::get_if<Pool>(&node.operation)) pool->window.kernel = {3, 3};
    return model;
  }
  static std::vector<std::vector<double>> outputs_of(const Model& model, const std::vector<Tensor>& inputs) {
    std::vector<std::vector<double>> outputs;
    for (const Bounded& output : evaluate(model, inputs)) outputs.push_back(output.values);
    return outputs;
  }

  TemporaryDirectory directory_;
  std::filesystem::path path_ = directory_ / "m.onnx";
};

/// Whole models, with all their outputs, come back as they were.
TEST_F(WrittenOnnx, ModelsOfSeveralOutputsComeBack) {
  for (std::uint32_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(seed);
    const testing::ModelCase random = testing::RandomModel(seed).make(25, 2);
    EXPECT_EQ(outputs_of(again(random.model), random.inputs), outputs_of(random.model, random.inputs));
    const std::string once = written(again(random.model));
    EXPECT_TRUE(written(read_onnx(path_)) == once);
    const Model small = small_network(seed);
    EXPECT_EQ(ModelText::of(again(small), false), ModelText::of(small, false));
  }
}

TEST_F(WrittenOnnx, WhatIsReadOfOnnxIsWrittenWithItsNames) {
  Model model = small_network(1);
  model.name = "net";
  const Model once = again(model);
  EXPECT_EQ(ModelText::of(once, true), ModelText::of(model, true));
  EXPECT_EQ(once.name, "net");
}

TEST_F(WrittenOnnx, SeveralInputsAndOutputsThatNoNodeMakes) {
  ModelBuilder builder;
  const ValueId x = builder.input({kBatchExtent, 2});
  const ValueId y = builder.input({kBatchExtent, 2});
  const ValueId c = builder.constant(testing::make_tensor({2}, {0.5F, -2}));
  const ValueId sum = builder.add(Elementwise{}, {x, y});
  const Model model = builder.finish({sum, x, sum, c});
  Rng rng(3);
  const std::vector<Tensor> inputs{testing::random_tensor(rng, {3, 2}), testing::random_tensor(rng, {3, 2})};
  EXPECT_EQ(outputs_of(again(model), inputs), outputs_of(model, inputs));
  std::set<std::string> names;
  const onnx::ModelProto found = proto(model);
  for (const onnx::ValueInfoProto& output : found.graph().output()) names.insert(output.name());
  EXPECT_EQ(names.size(), 4U);
}

/// Outputs that no node makes get an Identity: one, however often a file is read and written.
TEST_F(WrittenOnnx, WritingAgainWhatWasReadGivesTheSameBytes) {
  const auto model_with = [](int kind) {
    ModelBuilder builder;
    const ValueId x = builder.input({kBatchExtent, 2});
    const ValueId c = builder.constant(testing::make_tensor({2}, {0.5F, -2}));
    const ValueId sum = builder.add(Elementwise{}, {x, c});
    const ValueId same = builder.add(testing::make_activation(Activation::Kind::identity), {x});
    const ValueId fixed = builder.add(testing::make_activation(Activation::Kind::identity), {c});
    const std::vector<std::vector<ValueId>> outputs{{x}, {c}, {sum, c}, {c, c, x, x}, {sum, sum}, {same}, {sum, fixed}};
    Model model = builder.finish(outputs.at(static_cast<std::size_t>(kind)));
    remove_unread(model);
    model.values[model.inputs.front()].name = "input";  // as files of the other form call it
    return model;
  };
  for (int kind = 0; kind < 7; ++kind) {
    SCOPED_TRACE(kind);
    const std::string once = written(model_with(kind));
    const Model read = read_onnx(path_);
    EXPECT_EQ(written(read), once);
    const std::string by_safetensors = directory_ / "model.safetensors";
    if (read.outputs.size() != 1) continue;
    write_model(by_safetensors, read);
    const Model other = read_model(by_safetensors);
    EXPECT_EQ(written(other), once);
  }
}

TEST_F(WrittenOnnx, OutputsKeepTheirNamesWhereConstantsHaveThem) {
  onnx_test::File file;
  file.input("x", {-1, 2}).floats("c", {2}, {1, 2}).output("sum").output("c");
  file.node("Add", {"x", "c"}, "sum");
  file.write(path_);
  std::vector<std::string> names;
  const onnx::ModelProto again = proto(read_onnx(path_));
  for (const onnx::ValueInfoProto& output : again.graph().output()) names.push_back(output.name());
  EXPECT_EQ(names, (std::vector<std::string>{"sum", "c"}));
}

TEST_F(WrittenOnnx, LinearOnMoreAxesIsAProductAndASum) {
  Rng rng(3);
  const Linear linear = testing::random_linear(rng, 4, 3, 0.5);
  EXPECT_EQ(operators(linear, {kBatchExtent, 4}), "Gemm");
  EXPECT_EQ(operators(linear, {kBatchExtent, 5, 4}), "MatMul Add");
  EXPECT_EQ(operators(Linear{linear.weights, {}}, {kBatchExtent, 5, 4}), "MatMul");
  for (const Shape& shape : {Shape{kBatchExtent, 5, 4}, Shape{kBatchExtent, 2, 5, 4}}) {
    ModelBuilder builder;
    const ValueId x = builder.input(shape);
    const Model model = builder.finish({builder.add(linear, {x})});
    const std::vector<Tensor> inputs{testing::random_tensor(rng, with_batch(shape, 3))};
    EXPECT_EQ(outputs_of(again(model), inputs), outputs_of(model, inputs));
  }
  onnx_test::File vector;
  vector.input("x", {4}).floats("w", {4, 3}, std::vector<float>(12, 2)).output("y").node("MatMul", {"x", "w"}, "y");
  const Model product = vector.read();
  const std::vector<Tensor> numbers{testing::random_tensor(rng, {4})};
  EXPECT_EQ(outputs_of(again(product), numbers), outputs_of(product, numbers));
  ModelBuilder flat;
  const ValueId x = flat.input({4});
  expect_refused(path_, "node 'node0' is linear on an input of 4, expected two axes",
                 [&, model = flat.finish({flat.add(linear, {x})})] { write_onnx(path_, model); });
}

/// Sizes that no factor yields stay sizes, whatever the number of images.
TEST_F(WrittenOnnx, ResizesAreWrittenByFactorsOrBySizes) {
  const Shape shape{kBatchExtent, 2, 7, 5};
  Resize resize{.kind = Resize::Kind::nearest, .place = Resize::Place::half_pixel, .size = {14, 10}, .scale = {2, 2}};
  EXPECT_EQ(operators(resize, shape), "Resize");
  resize.size = {31, 10};
  resize.scale = {31.F / 7, 2};  // in fp32, 7 times this is less than 31
  EXPECT_EQ(operators(resize, shape), "Shape Concat Resize");
  resize.size = {7, 7};
  resize.scale = {1, 7.F / 5};  // in fp32, 5 times this is 7, but only by rounding
  EXPECT_EQ(operators(resize, shape), "Shape Concat Resize");
  resize.size = {7, 6};
  resize.scale = {1, 1.3F};  // no size gives this scale
  EXPECT_EQ(operators(resize, shape), "Resize");
  resize.size = {31, 10};
  resize.scale = {31.F / 7, 2};
  Rng rng(3);
  for (const auto place : {Resize::Place::half_pixel, Resize::Place::align_corners, Resize::Place::asymmetric})
    for (const auto kind : {Resize::Kind::nearest, Resize::Kind::linear}) {
      resize.place = place;
      resize.kind = kind;
      ModelBuilder builder;
      const ValueId x = builder.input(shape);
      const Model model = builder.finish({builder.add(resize, {x})});
      const Model read = again(model);
      EXPECT_EQ(ModelText::of(read, false), ModelText::of(model, false));
      const std::vector<Tensor> inputs{testing::random_tensor(rng, with_batch(shape, 2))};
      EXPECT_EQ(outputs_of(read, inputs), outputs_of(model, inputs));
    }
  resize.scale = {1, 1};
  expect_refused(path_, "node 'node0' resizes N x 2 x 7 x 5 to 31 x 10, but not by 1 x 1",
                 [&] { operators(resize, shape); });
}

TEST_F(WrittenOnnx, MeansWithDilationNeedALaterSet) {
  ModelBuilder builder;
  const ValueId x = builder.input({kBatchExtent, 2, 9, 9});
  Pool pool{.kind = Pool::Kind::average, .window = {.kernel = {3, 3}, .dilation = {2, 1}}};
  const Model dilated = builder.finish({builder.add(pool, {x})});
  EXPECT_EQ(proto(dilated).opset_import(0).version(), 19);
  EXPECT_EQ(proto(dilated).ir_version(), 9);  // the first that may hold set 19
  EXPECT_EQ(proto(testing::small_network(1, 0.3).model).opset_import(0).version(), 17);
  EXPECT_EQ(proto(testing::small_network(1, 0.3).model).ir_version(), 8);
  EXPECT_EQ(ModelText::of(again(dilated), false), ModelText::of(dilated, false));
}

/// Programs disagree on windows that begin in the padding; a ceil_mode that adds no window does not ask them.
TEST_F(WrittenOnnx, RoundingUpIsWrittenWhereItAddsAWindow) {
  const auto rounds_up = [&](const Shape& input, const Window& window) {
    ModelBuilder builder;
    const ValueId x = builder.input(input);
    const Pool pool{.kind = Pool::Kind::average, .window = window, .round_up = true};
    const onnx::ModelProto found = proto(builder.finish({builder.add(pool, {x})}));
    for (const onnx::AttributeProto& attribute : found.graph().node(0).attribute())
      if (attribute.name() == "ceil_mode") return attribute.i();
    return std::int64_t{-1};
  };
  const Window window{.kernel = {2, 2}, .stride = {2, 2}};
  EXPECT_EQ(rounds_up({kBatchExtent, 1, 4, 4}, window), 0);
  EXPECT_EQ(rounds_up({kBatchExtent, 1, 4, 5}, window), 1);
  EXPECT_EQ(rounds_up({kBatchExtent, 1, 5, 4}, window), 1);
  EXPECT_EQ(rounds_up({kBatchExtent, 1, 5}, {.kernel = {1, 2}, .stride = {1, 2}}), 1);
  EXPECT_EQ(rounds_up({kBatchExtent, 1, 4, 4}, {.kernel = {2, 2}, .stride = {3, 3}, .pad_end = {1, 1}}), 0);
}

TEST_F(WrittenOnnx, EveryNameIsThereOnceAndPlain) {
  ModelBuilder builder;
  const ValueId x = builder.input({kBatchExtent, 2});
  ValueId y = x;
  for (int i = 0; i < 4; ++i) y = builder.add(Activation{}, {y});
  Model model = builder.finish({y});
  model.values[1].name = "caf\xe9\n";
  model.values[2].name = "input0";
  model.values[3].name = "";
  std::vector<std::string> names;
  const onnx::ModelProto found = proto(model);
  for (const onnx::NodeProto& node : found.graph().node()) names.push_back(node.output(0));
  EXPECT_EQ(names, (std::vector<std::string>{"caf\\xe9\\x0a", "input0_2", "_2", "value4"}));
}

/// Nodes that come from one operator of another file share a name; the other nodes keep theirs.
TEST_F(WrittenOnnx, EveryNodeHasANameOfItsOwn) {
  ModelBuilder builder;
  const ValueId x = builder.input({kBatchExtent, 2, 5});
  Rng rng(3);
  ValueId y = builder.add(testing::random_linear(rng, 5, 5, 1), {x});
  for (int i = 0; i < 4; ++i) y = builder.add(Activation{}, {y});
  const Resize resize{.place = Resize::Place::half_pixel, .size = {1, 31}, .scale = {1, 31.F / 5}};
  Model model = builder.finish({x, builder.add(resize, {y})});
  const std::array<const char*, 6> wanted{"a", "a", "a_2", "a", "", "a_2"};
  for (std::size_t n = 0; n < model.nodes.size(); ++n) model.nodes[n].name = wanted.at(n);
  std::vector<std::string> names;
  const onnx::ModelProto found = proto(model);
  for (const onnx::NodeProto& node : found.graph().node()) names.push_back(node.name());
  EXPECT_EQ(names, (std::vector<std::string>{"a.product", "a", "a_3", "a_2", "a_4", "value5", "a_2_2.kept",
                                             "a_2_2.sizes", "a_2_2", "input0_2"}));
}

/// The weights with few non-zeros, by rows or by columns, are written without their zeros, and come back.
TEST_F(WrittenOnnx, SparseInitializersHoldTheSameModel) {
  Rng rng(3);
  ModelBuilder builder;
  const ValueId x = builder.input({kBatchExtent, 4, 6, 5});
  const Convolution few = testing::random_convolution(rng, 4, 8, testing::same_window(3, 3), 0.1);
  const Convolution many = testing::random_convolution(rng, 8, 4, testing::same_window(1, 1), 0.9);
  const ValueId y = builder.add(many, {builder.add(few, {x})});
  const Model model = builder.finish({builder.add(testing::random_linear(rng, 5, 6, 0.2), {y})});
  const std::string expected = ModelText::of(again(model), false);
  write_sparse_onnx(path_, model);
  EXPECT_EQ(ModelText::of(read_onnx(path_), false), expected);
  onnx::ModelProto found;
  ASSERT_TRUE(found.ParseFromString(text_of_file(path_)));
  EXPECT_EQ(found.graph().sparse_initializer_size(), 2);
  EXPECT_EQ(found.graph().initializer_size(), 4);
  const auto entries = [](const Convolution& one) { return one.weights.csr().entries(); };
  EXPECT_EQ(onnx_bytes(model).dense, 4 * (8 * 4 * 9 + 4 * 8 + 6 * 5));
  EXPECT_EQ(onnx_bytes(model).sparse,
            12 * entries(few) + 4 * 4 * 8 + 12 * matrix_or_null(model.nodes[2].operation)->entries());
  EXPECT_LT(entries(few), 8 * 4 * 9 / 3);
}

/// Weights of i8 and u8 become initializers of a byte each, by rows or by columns, and come back as the same fp32 bits.
TEST_F(WrittenOnnx, WholeWeightsAreReadByDequantizeLinear) {
  Rng rng(8);
  ModelBuilder builder;
  ValueId x = builder.input({kBatchExtent, 3, 6, 5});
  x = builder.add(testing::random_convolution(rng, 3, 7, testing::same_window(3, 3), 0.4), {x});
  x = builder.add(testing::random_linear(rng, 5, 4, 0.7), {x});
  x = builder.add(Reshape{{kBatchExtent, 168}}, {x});
  Model model = builder.finish({builder.add(testing::random_linear(rng, 168, 9, 0.05), {x})});
  quantise(model, {Quantisation::Kind::int8, 8});
  TypedMatrix last = *weights_or_null(model.nodes[3].operation)->typed();
  last.values.type = DataType::u8;
  last.values.zero_points = {0};
  for (const std::byte byte : last.values.bytes)
    if (static_cast<std::int8_t>(byte) < 0) last.values.zero_points[0] = 128;
  std::get<Linear>(model.nodes[3].operation).weights = Weights(last);
  const onnx::ModelProto found = proto(model);
  std::string operators;
  for (const onnx::NodeProto& node : found.graph().node()) operators += node.op_type() + " ";
  EXPECT_EQ(operators, "DequantizeLinear Conv DequantizeLinear MatMul Add Reshape DequantizeLinear Gemm ");
  EXPECT_EQ(found.graph().initializer(0).data_type(), onnx::TensorProto::INT8);
  EXPECT_EQ(found.graph().initializer(0).raw_data().size(), 7U * 27);
  const Model read = again(model);
  std::vector<const Weights*> given;
  std::vector<const Weights*> came;
  for (const Node& node : model.nodes)
    if (const Weights* const weights = weights_or_null(node.operation)) given.push_back(weights);
  for (const Node& node : read.nodes)
    if (const Weights* const weights = weights_or_null(node.operation)) came.push_back(weights);
  ASSERT_EQ(given.size(), came.size());
  for (std::size_t i = 0; i < given.size(); ++i)
    EXPECT_EQ(dense_rows(*given[i], 0, given[i]->rows()), dense_rows(*came[i], 0, came[i]->rows()));
  EXPECT_EQ(onnx_bytes(model).dense, 7U * 27 + 4 * 5 + 9 * 168);
}

TEST_F(WrittenOnnx, WholeWeightsHaveAZeroPointPerRowThoughOneScale) {
  Rng rng(8);
  ModelBuilder builder;
  const ValueId x = builder.input({kBatchExtent, 5});
  Model model = builder.finish({builder.add(testing::random_linear(rng, 5, 3, 1), {x})});
  quantise(model, {Quantisation::Kind::int8, 8});
  TypedMatrix weights = *weights_or_null(model.nodes[0].operation)->typed();
  weights.values.scales = {0.25F};
  weights.values.zero_points = {-3, 0, 7};
  std::get<Linear>(model.nodes[0].operation).weights = Weights(weights);
  const auto rows = [](const Model& of) { return dense_rows(*weights_or_null(of.nodes[0].operation), 0, 3); };
  EXPECT_EQ(rows(again(model)), rows(model));
}

/// Values that are rounded to 8 bits are written as QuantizeLinear and DequantizeLinear, with and without a zero point.
TEST_F(WrittenOnnx, RoundedValuesAreQuantizeAndDequantizeLinear) {
  Rng rng(9);
  ModelBuilder builder;
  ValueId x = builder.input({kBatchExtent, 8});
  x = builder.add(testing::random_linear(rng, 8, 6, 1), {x});
  x = builder.add(testing::make_activation(Activation::Kind::relu), {x});
  Model model = builder.finish({builder.add(testing::random_linear(rng, 6, 5, 1), {x})});
  EXPECT_EQ(quantise_values(model, {{model.inputs[0], {-2, 1}}, {x, {0, 3}}}), 2U);
  const std::vector<QuantisedValue> values = quantised_values(model);
  ASSERT_EQ(values.size(), 2U);
  EXPECT_TRUE(values[0].is_signed);
  EXPECT_FALSE(values[1].is_signed);
  const std::vector<Tensor> inputs{testing::random_tensor(rng, {40, 8})};
  const auto expected = outputs_of(model, inputs);
  std::string operators;
  const onnx::ModelProto found = proto(model);
  for (const onnx::NodeProto& node : found.graph().node()) operators += node.op_type() + " ";
  EXPECT_EQ(operators, "QuantizeLinear DequantizeLinear Gemm Relu QuantizeLinear DequantizeLinear Gemm ");
  const Model read = again(model);
  EXPECT_EQ(outputs_of(read, inputs), expected);
  EXPECT_EQ(quantised_values(read).size(), 2U);
  const std::string bytes = written(read);
  EXPECT_EQ(written(again(read)), bytes);

  // A scale of its own on the way back is no rounding to 8 bits: such nodes are written as they are.
  Model other = model;
  const Node& multiply = other.nodes[values[0].last()];
  other.values.push_back({.name = "half", .shape = {}, .constant = Tensor{{}, std::vector<float>{0.5F}}});
  other.nodes[values[0].last()].inputs[1] = static_cast<ValueId>(other.values.size() - 1);
  EXPECT_EQ(multiply.inputs[1], other.values.size() - 1);
  EXPECT_EQ(quantised_values(other).size(), 1U);
  const auto others = outputs_of(other, inputs);
  EXPECT_NE(others, expected);
  EXPECT_EQ(outputs_of(again(other), inputs), others);
  // Nor are steps that are outputs, too.
  other = model;
  other.outputs.push_back(other.nodes[values[0].whole()].output);
  EXPECT_EQ(quantised_values(other).size(), 1U);
  EXPECT_EQ(outputs_of(again(other), inputs), outputs_of(other, inputs));
}

/// Constants of bytes take many times the file's size while they are read.
TEST_F(WrittenOnnx, ManyWeightsOfBytesAreReadBack) {
  constexpr Index kSize = 3000;
  std::vector<Offset> offsets;
  std::vector<Index> indices;
  for (Index row = 0; row <= kSize; ++row) offsets.push_back(Offset{row} * kSize);
  for (Offset i = 0; i < offsets.back(); ++i) indices.push_back(static_cast<Index>(i % kSize));
  const CsrMatrix weights = make_csr(kSize, kSize, offsets, indices, std::vector<float>(offsets.back(), 3));
  ModelBuilder builder;
  const ValueId x = builder.input({kBatchExtent, kSize});
  Model model = builder.finish({builder.add(Linear{weights, {}}, {x})});
  quantise(model, {Quantisation::Kind::int8, 8});
  EXPECT_EQ(std::get<Linear>(again(model).nodes[0].operation).weights.csr().entries(), offsets.back());
}

/// As other programs write it: a zero point that is not 0.
TEST_F(WrittenOnnx, AZeroPointStaysWhatItIs) {
  onnx_test::File file;
  file.input("x", {-1, 3}).output("y").floats("scale", {}, {0.5F});
  file.tensor("zero", {}, onnx::TensorProto::INT8).add_int32_data(-3);
  file.node("QuantizeLinear", {"x", "scale", "zero"}, "q");
  file.node("DequantizeLinear", {"q", "scale", "zero"}, "y");
  const Model model = file.read();
  ASSERT_EQ(quantised_values(model).size(), 1U);
  EXPECT_EQ(quantised_values(model)[0].zero, -3);
  const onnx::ModelProto found = proto(model);
  ASSERT_EQ(found.graph().node_size(), 2);
  EXPECT_EQ(found.graph().node(0).op_type(), "QuantizeLinear");
  const std::vector<Tensor> inputs{Tensor{{1, 3}, std::vector<float>{0.3F, -100, 100}}};
  EXPECT_EQ(outputs_of(again(model), inputs), outputs_of(model, inputs));
  EXPECT_EQ(outputs_of(model, inputs)[0], (std::vector<double>{0.5, (-128 + 3) / 2.0, (127 + 3) / 2.0}));
  // One that another node reads, too, is also written as a number.
  const std::vector<ValueId> zeros = quantised_values(model)[0].zeros;
  ASSERT_EQ(zeros.size(), 2U);
  for (const ValueId zero : zeros) {
    Model read_twice = model;
    read_twice.values.push_back({.name = "sum", .shape = {kBatchExtent, 3}, .constant = {}});
    const auto sum = static_cast<ValueId>(read_twice.values.size() - 1);
    read_twice.nodes.push_back({"sum", Elementwise{}, {model.outputs[0], zero}, sum});
    read_twice.outputs = {sum};
    ASSERT_EQ(quantised_values(read_twice).size(), 1U);
    EXPECT_EQ(outputs_of(again(read_twice), inputs), outputs_of(read_twice, inputs));
  }
}

TEST_F(WrittenOnnx, MoreThanProtobufHoldsIsRefusedBeforeItIsMade) {
  ModelBuilder builder;
  const ValueId x = builder.input({kBatchExtent, 60000});
  Linear linear{make_csr(60000, 60000, std::vector<Offset>(60001, 0), {}), {}};
  const Model model = builder.finish({builder.add(linear, {x})});
  expect_refused(path_, "14400000000 bytes are more than the 2 GiB of a protobuf file",
                 [&] { write_onnx(path_, model); });
  EXPECT_FALSE(exists(path_));
}

/// The bytes of all tensors count together, each by the size of its type.
TEST_F(WrittenOnnx, TensorsThatTogetherExceedProtobufAreRefused) {
  const Model model;
  onnx::GraphProto graph;
  onnx_writer::GraphWriter writer(model, "m.onnx", graph, false);
  const Shape half{1 << 14U, 1 << 14U};
  writer.add_floats("a", half, {});
  EXPECT_THROW(writer.add_floats("b", half, {}), DataError);
  Rng rng(8);
  ModelBuilder builder;
  const ValueId x = builder.input({kBatchExtent, 5});
  Model quantised = builder.finish({builder.add(testing::random_linear(rng, 5, 3, 1), {x})});
  quantise(quantised, {Quantisation::Kind::int8, 8});
  TypedMatrix weights = *weights_or_null(quantised.nodes[0].operation)->typed();
  for (const DataType type : {DataType::i8, DataType::u8}) {
    weights.values.type = type;
    onnx::GraphProto other;
    onnx_writer::GraphWriter of_bytes(model, "m.onnx", other, false);
    of_bytes.add_weights("a", {1 << 15U, 1 << 15U}, Weights(weights), false);
    EXPECT_THROW(of_bytes.add_weights("b", {1 << 15U, 1 << 15U}, Weights(weights), false), DataError);
  }
}

TEST_F(WrittenOnnx, AFullDiskIsNamed) {
  const Model model = testing::small_network(1, 0.3).model;
  expect_refused("/dev/full", "cannot write: No space left on device", [&] { write_onnx("/dev/full", model); });
}

}  // namespace
}  // namespace spdnn
