#include <fmt/format.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <tuple>

#include "model/graph/node_work.hpp"
#include "spdnn/error.hpp"
#include "spdnn/model.hpp"
#include "support/models.hpp"

namespace spdnn {
namespace {

using testing::kN;
using testing::ModelBuilder;
using testing::Rng;

/// The error of output_shape().
std::string refusal_of_shapes(const Operation& operation, const std::vector<Shape>& inputs) {
  try {
    return "makes " + shape_text(output_shape(operation, inputs));
  } catch (const UsageError& error) {
    return error.what();
  }
}

/// A convolution of that window with one weight.
Convolution convolution_of(Index channels, Index filters, const Window& window, Index groups = 1) {
  Convolution convolution;
  convolution.window = window;
  convolution.groups = groups;
  testing::Rows rows(filters);
  rows[0].emplace_back(0, 1.F);
  convolution.weights = testing::make_matrix(channels / groups * window.kernel[0] * window.kernel[1], rows);
  return convolution;
}

TEST(Tensor, ElementsAreCountedUpToWhatMemoryAddresses) {
  EXPECT_EQ(elements({}), 1U);
  EXPECT_EQ(elements({2, 3, 4}), 24U);
  EXPECT_EQ(elements({2, 0, 4}), 0U);
  EXPECT_EQ(elements({kN, 3}), std::nullopt);
  EXPECT_EQ(elements({Extent{1} << 40, Extent{1} << 19}), std::optional<Offset>(Offset{1} << 59));
  EXPECT_EQ(elements({Extent{1} << 40, Extent{1} << 20}), std::nullopt);
  EXPECT_EQ(elements({Extent{1} << 40, Extent{1} << 40, 0}), 0U);
}

TEST(Tensor, ShapesAreShownWithTheirBatch) {
  EXPECT_EQ(shape_text({kN, 3, 224, 224}), "N x 3 x 224 x 224");
  EXPECT_EQ(shape_text({}), "a scalar");
  EXPECT_EQ(with_batch({kN, 3}, 7), (Shape{7, 3}));
}

TEST(ModelShapes, WindowsMakeExtents) {
  EXPECT_EQ(output_shape(convolution_of(3, 8, testing::same_window(3, 3)), {{kN, 3, 9, 7}}), (Shape{kN, 8, 9, 7}));
  Window window{.kernel = {3, 5}, .stride = {2, 3}, .dilation = {2, 1}, .pad_begin = {0, 1}, .pad_end = {1, 2}};
  EXPECT_EQ(output_shape(convolution_of(4, 2, window, 2), {{5, 4, 9, 11}}), (Shape{5, 2, 3, 4}));
  EXPECT_EQ(output_shape(convolution_of(4, 2, {.kernel = {1, 3}, .stride = {1, 2}}), {{kN, 4, 10}}), (Shape{kN, 2, 4}));
  const Window far{.kernel = {1, 1}, .stride = {kMaxIndex, 1}, .pad_begin = {kMaxIndex, 0}};
  EXPECT_EQ(output_shape(convolution_of(3, 8, far), {{kN, 3, 9, 7}}), (Shape{kN, 8, 2, 7}));
  const Window whole{.kernel = {9, 7}};
  EXPECT_EQ(output_shape(convolution_of(3, 8, whole), {{kN, 3, 9, 7}}), (Shape{kN, 8, 1, 1}));
}

TEST(ModelShapes, RoundingUpAddsNoWindowThatBeginsBeyondTheImage) {
  Pool pool{.window = {.kernel = {2, 2}, .stride = {2, 2}}};
  EXPECT_EQ(output_shape(pool, {{kN, 3, 5, 6}}), (Shape{kN, 3, 2, 3}));
  pool.round_up = true;
  EXPECT_EQ(output_shape(pool, {{kN, 3, 5, 6}}), (Shape{kN, 3, 3, 3}));
  pool.window = {.kernel = {2, 2}, .stride = {3, 3}, .pad_begin = {1, 1}, .pad_end = {1, 1}};
  EXPECT_EQ(output_shape(pool, {{kN, 3, 5, 6}}), (Shape{kN, 3, 2, 3}));  // a third row would begin at 5
}

TEST(ModelShapes, OperationsRefuseWhatDoesNotFit) {
  EXPECT_EQ(refusal_of_shapes(convolution_of(3, 8, {}), {{kN, 4, 9, 7}}),
            "filters of 3 channels do not fit N x 4 x 9 x 7");
  EXPECT_EQ(refusal_of_shapes(convolution_of(4, 2, {.kernel = {3, 8}, .pad_end = {0, 0}}), {{kN, 4, 9, 7}}),
            "a window of 3 x 8, dilated by 1 x 1, does not fit into N x 4 x 9 x 7 with its padding");
  EXPECT_EQ(refusal_of_shapes(convolution_of(4, 2, {.kernel = {3, 1}}), {{kN, 4, 9}}),
            "a window with height cannot move over sequences: N x 4 x 9");
  EXPECT_EQ(refusal_of_shapes(convolution_of(4, 2, {.stride = {0, 1}}), {{kN, 4, 9, 9}}),
            "kernel, stride and dilation must be in 1 .. 2^31-1");
  EXPECT_EQ(refusal_of_shapes(Linear{testing::make_matrix(5, {{}, {}}), {}}, {{kN, 4}}),
            "weights of 5 inputs do not fit N x 4");
  EXPECT_EQ(refusal_of_shapes(Linear{testing::make_matrix(5, {{}, {}}), {}}, {{}}),
            "weights of 5 inputs do not fit a scalar");
  EXPECT_EQ(refusal_of_shapes(Pool{.window = {.kernel = {2, 2}, .pad_begin = {2, 0}}}, {{kN, 4, 9, 9}}),
            "a window of the pool lies in the padding alone");
  const Window split{.kernel = {1, 2}, .dilation = {1, 2}, .pad_begin = {0, 1}, .pad_end = {0, 1}};
  EXPECT_EQ(refusal_of_shapes(Pool{.window = split}, {{kN, 4, 1, 1}}),
            "a window of the pool lies in the padding alone");
  // The first window has its second tap in the image, the second window too, and the last one its first tap.
  const Window middle{.kernel = {1, 2}, .dilation = {1, 3}, .pad_begin = {0, 3}, .pad_end = {0, 2}};
  EXPECT_EQ(refusal_of_shapes(Pool{.window = middle}, {{kN, 4, 1, 2}}),
            "a window of the pool lies in the padding alone");
  EXPECT_EQ(refusal_of_shapes(Activation{}, {{2}, {2}}), "takes 1 input, not 2");
  for (const std::size_t axes : {8U, 9U}) {
    const Shape ones(axes, 1);
    const std::string text = shape_text(ones);
    EXPECT_EQ(refusal_of_shapes(MatMul{}, {ones, ones}),
              axes == 8 ? fmt::format("makes {}", text) : fmt::format("multiplies matrices, not {0} and {0}", text));
  }
  EXPECT_EQ(refusal_of_shapes(GlobalPool{}, {{kN, 4}}), "takes images N x C x H x W or sequences N x C x W, not N x 4");
  for (const Operation& moving : {Operation(Pool{.window = {.kernel = {2, 2}}}), Operation(convolution_of(4, 2, {})),
                                  Operation(GlobalPool{}), Operation(Resize{.size = {2, 2}})})
    EXPECT_EQ(refusal_of_shapes(moving, {{kN, 4, 3, 3, 3}}),
              "takes images N x C x H x W or sequences N x C x W, not N x 4 x 3 x 3 x 3");
  for (const Window& high : {Window{.pad_begin = {1, 0}}, Window{.pad_end = {1, 0}}})
    EXPECT_EQ(refusal_of_shapes(convolution_of(4, 2, high), {{kN, 4, 9}}),
              "a window with height cannot move over sequences: N x 4 x 9");
  EXPECT_EQ(refusal_of_shapes(Resize{.size = {2, 5}}, {{kN, 4, 9}}), "a sequence has no height to resize: N x 4 x 9");
  EXPECT_EQ(refusal_of_shapes(Resize{.size = {1, 5}}, {{kN, 4, 9}}), "makes N x 4 x 5");
  EXPECT_EQ(refusal_of_shapes(Elementwise{}, {{2, 3}, {2, 0}}), "2 x 3 and 2 x 0 do not fit");
  EXPECT_EQ(refusal_of_shapes(Elementwise{}, {{2, 1}, {2, 0}}), "makes 2 x 0");
  EXPECT_EQ(refusal_of_shapes(Transpose{{0, 2, 2}}, {{2, 3, 4}}), "the order of axes does not fit 2 x 3 x 4");
  EXPECT_EQ(refusal_of_shapes(Concat{1}, {{kN, 3, 4}, {kN, 3, 5}}), "N x 3 x 4 and N x 3 x 5 do not fit along axis 1");
  EXPECT_EQ(refusal_of_shapes(Concat{3}, {{kN, 3, 4}}), "axis 3 does not exist in N x 3 x 4");
  EXPECT_EQ(refusal_of_shapes(Pad{{0, 1}, {0, -4}, 0}, {{kN, 3}}), "nothing is left of axis 1 of N x 3");
  EXPECT_EQ(refusal_of_shapes(Pad{{0, 0}, {0, -Extent{kMaxIndex} - 1}, 0}, {{kN, 3}}),
            "padding must be in -(2^31-1) .. 2^31-1");
  EXPECT_EQ(refusal_of_shapes(Pad{{1, 0}, {-1, 0}, 0}, {{kN, 3}}), "the batch cannot be padded");
  EXPECT_EQ(refusal_of_shapes(Pad{{0, kMaxIndex}, {0, 1}, 0}, {{kN, 3}}), "one image is too large: N x 2147483651");
}

TEST(ModelShapes, TheBatchStaysOnAxis0) {
  EXPECT_EQ(refusal_of_shapes(Transpose{{1, 0}}, {{kN, 3}}), "the batch must stay axis 0 of N x 3");
  EXPECT_EQ(refusal_of_shapes(Concat{0}, {{kN, 3}, {kN, 3}}), "cannot join batches along axis 0");
  EXPECT_EQ(refusal_of_shapes(Softmax{0}, {{kN, 3}}), "axis 0 is the batch of N x 3");
  EXPECT_EQ(refusal_of_shapes(Pad{{1, 0}, {0, 0}, 0}, {{kN, 3}}), "the batch cannot be padded");
  EXPECT_EQ(refusal_of_shapes(Pad{{-1, 0}, {0, 0}, 0}, {{kN, 3}}), "the batch cannot be padded");
  EXPECT_EQ(refusal_of_shapes(Elementwise{}, {{4, kN}, {1}}), "the batch can be axis 0 alone: 4 x N");
  EXPECT_EQ(refusal_of_shapes(Elementwise{}, {{4, kN}, {kN}}), "4 x N and N do not fit");
  EXPECT_EQ(refusal_of_shapes(Elementwise{}, {{kN, 3}, {4, 3}}), "N x 3 and 4 x 3 do not fit");
  EXPECT_EQ(output_shape(Elementwise{}, {{1, 3, 1}, {kN, 3, 5}}), (Shape{kN, 3, 5}));
  EXPECT_EQ(output_shape(Elementwise{}, {{3, 1}, {kN, 1, 5}}), (Shape{kN, 3, 5}));
}

TEST(ModelShapes, ReshapeFillsTheOpenExtent) {
  EXPECT_EQ(output_shape(Reshape{{kN, 12}}, {{kN, 3, 4}}), (Shape{kN, 12}));
  EXPECT_EQ(output_shape(Reshape{{kN, 12}}, {{5, 3, 4}}), (Shape{5, 12}));
  EXPECT_EQ(output_shape(Reshape{{2, kN, 3}}, {{3, 4}}), (Shape{2, 2, 3}));
  EXPECT_EQ(refusal_of_shapes(Reshape{{kN, 11}}, {{kN, 3, 4}}), "N x 3 x 4 cannot become N x 11");
  EXPECT_EQ(refusal_of_shapes(Reshape{{kN, 6}}, {{kN, 3, 4}}),
            "N x 3 x 4 cannot become N x 6");  // images would be cut in two
  EXPECT_EQ(refusal_of_shapes(Reshape{{3, 4}}, {{kN, 3, 4}}), "N x 3 x 4 cannot become 3 x 4");
  EXPECT_EQ(refusal_of_shapes(Reshape{{kN, kN}}, {{3, 4}}), "more than one extent is left open");
  EXPECT_EQ(refusal_of_shapes(Reshape{{kN, 5}}, {{3, 4}}), "3 x 4 cannot become N x 5");
  EXPECT_EQ(refusal_of_shapes(Reshape{{kN, 0}}, {{3, 4}}), "3 x 4 cannot become N x 0");
}

TEST(ModelShapes, AWholeNetworkIsInferred) {
  const Model model = testing::small_network(1, 0.5).model;
  EXPECT_EQ(model.values[model.outputs[0]].shape, (Shape{kN, 5}));
  for (const Value& value : model.values) EXPECT_EQ(value.shape[0], kN) << value.name;
}

TEST(ModelShapes, NodesWithoutWeightsAreNoWork) {
  ModelBuilder builder;
  const ValueId x = builder.input({kN, 2});
  const Model model = builder.finish({builder.add(Activation{}, {x})});
  const NodeWork work = work_of(model).at(0);
  EXPECT_EQ(std::tuple(work.weights, work.nonzeros, work.rows, work.least, work.most), std::tuple(0U, 0U, 0U, 0U, 0U));
  EXPECT_EQ(work.places, 0);
}

TEST(ModelShapes, TheWorkOfANodeHasTheLeastAndTheMostWeightsOfARow) {
  const testing::Rows rows{{{0, 1.F}, {1, 1.F}}, {{0, 1.F}, {1, 1.F}, {2, 1.F}}, {{0, 1.F}}, {{0, 1.F}, {2, 1.F}}};
  ModelBuilder builder;
  const Convolution convolution{testing::make_matrix(4, rows), {}};
  const Model model = builder.finish({builder.add(convolution, {builder.input({kN, 4, 2, 5})})});
  const NodeWork work = work_of(model).at(0);
  EXPECT_EQ(std::tuple(work.weights, work.nonzeros, work.rows, work.least, work.most), std::tuple(16U, 8U, 4U, 1U, 3U));
  EXPECT_EQ(work.places, 10);
}

TEST(ModelShapes, WeightsThatAreScaledAnywhereAreNotExact) {
  const CsrMatrix numbers = testing::make_matrix(2, {{{0, 1.F}, {1, 2.F}}, {{0, 3.F}}});
  const auto note = [&](bool first, bool second) {
    ModelBuilder builder;
    ValueId x = builder.input({kN, 2});
    for (const bool scaled : {first, second}) {
      TypedMatrix matrix = typed_matrix(numbers, Pattern::dense, scaled ? DataType::i8 : DataType::f16);
      if (scaled) matrix.values.scales = {0.1F};
      x = builder.add(Linear{Weights(matrix), {}}, {x});
    }
    return note_on_forms(builder.finish({x})).value();
  };
  const auto ends = [](const std::string& text) { return text.substr(text.rfind(", ") + 2); };
  EXPECT_EQ(ends(note(false, false)), "exactly");
  for (const auto& [first, second] : {std::pair{true, false}, {false, true}, {true, true}})
    EXPECT_EQ(ends(note(first, second)), "scaled by one rounding each") << first << second;
}

TEST(ModelShapes, AModelTakesTheBytesOfItsNormsAndConstants) {
  Rng rng(6);
  ModelBuilder builder;
  const ValueId x = builder.add(testing::random_norm(rng, 5), {builder.input({kN, 5})});
  const ValueId y = builder.add(Elementwise{}, {x, builder.constant(testing::random_tensor(rng, {1, 5}))});
  EXPECT_EQ(bytes_of(builder.finish({y})), (4 * 5 + 5) * sizeof(float));
}

TEST(ModelShapes, AModelTakesTheBytesOfItsWeightsAndBiases) {
  Rng rng(5);
  const Convolution convolution = testing::random_convolution(rng, 1, 3, testing::same_window(3, 3), 0.5);
  ModelBuilder builder;
  const Model model = builder.finish({builder.add(convolution, {builder.input({kN, 1, 4, 4})})});
  EXPECT_EQ(bytes_of(model), convolution.weights.bytes() + convolution.bias.size() * sizeof(float));
}

TEST(ModelShapes, AFaultNamesItsNode) {
  Rng rng(1);
  ModelBuilder builder;
  const ValueId x = builder.input({kN, 3, 8, 8});
  const ValueId y = builder.add(Activation{}, {x});
  builder.add(testing::random_norm(rng, 4), {y});
  try {
    builder.finish({y});
    FAIL() << "nothing was refused";
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "node 2 \"node1\" (batch norm): 4 channels do not fit N x 3 x 8 x 8");
  }
}

/// The error of validate() after `change` of a valid model.
template <class Change>
std::string fault(const Change& change) {
  Model model = testing::small_network(2, 0.5).model;
  model.validate();
  change(model);
  try {
    model.validate();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(ModelValidate, GraphsAreChecked) {
  EXPECT_EQ(fault([](Model& m) { m.nodes[0].inputs[0] = 99; }), "value 99 does not exist");
  EXPECT_EQ(fault([](Model& m) { m.outputs[0] = static_cast<ValueId>(m.values.size()); }), "value 18 does not exist");
  EXPECT_EQ(fault([](Model& m) { std::swap(m.nodes[0], m.nodes[1]); }),
            "node 1 \"node1\" (batch norm) reads value \"value1\" before it is made");
  EXPECT_EQ(fault([](Model& m) { m.nodes[1].output = m.nodes[0].output; }), "value \"value1\" is made more than once");
  EXPECT_EQ(fault([](Model& m) { m.nodes[0].output = m.inputs[0]; }), "value \"input0\" is made more than once");
  EXPECT_EQ(fault([](Model& m) { m.nodes.pop_back(); }), "the output value \"value17\" is never made");
  EXPECT_EQ(fault([](Model& m) {
              m.values[3].shape = {kN, 9};
            }),
            "node 3 \"node2\" (relu): makes N x 8 x 12 x 10, not N x 9");
  EXPECT_EQ(fault([](Model& m) { m.values[3].shape[3] = 11; }),
            "node 3 \"node2\" (relu): makes N x 8 x 12 x 10, not N x 8 x 12 x 11");
  EXPECT_EQ(fault([](Model& m) { m.values[m.inputs[0]].constant = testing::make_tensor({2}, {1}); }),
            "value \"input0\" is made more than once");
}

TEST(ModelValidate, ConstantsAreChecked) {
  const auto fault_of = [](Tensor constant) {
    return fault([&](Model& m) { m.values.push_back({"c", constant.shape, constant}); });
  };
  EXPECT_EQ(fault_of(testing::make_tensor({2, 2}, {1, 2, 3})), "constant \"c\" has 3 values for its shape 2 x 2");
  EXPECT_EQ(fault_of(testing::make_tensor({2}, {1, NAN})), "constant \"c\" has a value that is not finite");
  EXPECT_EQ(fault_of(testing::make_tensor({2}, {1, 2})), "");
}

TEST(ModelValidate, ArraysAreChecked) {
  const auto convolution = [](Model& m) -> Convolution& { return std::get<Convolution>(m.nodes[0].operation); };
  const auto norm = [](Model& m) -> BatchNorm& { return std::get<BatchNorm>(m.nodes[1].operation); };
  const std::string first = "node 1 \"node0\" (convolution): ";
  const std::string second = "node 2 \"node1\" (batch norm): ";
  EXPECT_EQ(fault([&](Model& m) { convolution(m).groups = 3; }), first + "8 filters do not divide into 3 groups");
  EXPECT_EQ(fault([&](Model& m) { convolution(m).bias = {1, 2}; }), first + "its bias has 2 values for 8 outputs");
  EXPECT_EQ(fault([&](Model& m) { convolution(m).bias.assign(8, NAN); }), first + "its bias is not finite");
  EXPECT_EQ(fault([&](Model& m) {
              convolution(m).window.kernel = {2, 2};
            }),
            first + "its filters do not have the size of its window");
  EXPECT_EQ(fault([&](Model& m) {
              convolution(m).weights = testing::make_matrix(27, {{{3, 1.F}, {3, 1.F}}});
            }),
            first + "the columns of row 0 of its weights do not ascend");
  EXPECT_EQ(fault([&](Model& m) {
              convolution(m).weights = testing::make_matrix(27, {{{3, 1.F}, {4, 0.F}}});
            }),
            first + "its weights store zeros");
  EXPECT_EQ(fault([&](Model& m) { norm(m).mean.pop_back(); }),
            second + "its scale, shift, mean and variance differ in length");
  EXPECT_EQ(fault([&](Model& m) { norm(m).variance[3] = -0.5F; }),
            second + "its variance and epsilon must add up to more than zero");
}

}  // namespace
}  // namespace spdnn
