// Models written and read again: in every form they are the same, number by number.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "data/model_families.hpp"
#include "io/models/model_file.hpp"
#include "model/oracle/evaluate.hpp"
#include "spdnn/files.hpp"
#include "spdnn/model_inference.hpp"
#include "support/model_text.hpp"
#include "support/models.hpp"
#include "support/sampled.hpp"
#include "temporary_directory.hpp"

namespace spdnn {
namespace {

using testing::make_activation;
using testing::make_clip;
using testing::make_tensor;
using testing::ModelBuilder;
using testing::ModelText;
using testing::Rng;

class WrittenModel : public ::testing::TestWithParam<std::string> {
 protected:
  Model again(const Model& model) const {
    const std::string path = directory_ / ("model." + GetParam());
    write_model(path, model);
    Model read = read_model(path);
    read.validate();
    return read;
  }
  /// The model read back equals the written one, but for names, and has the same results. ONNX expresses some
  /// operations by others.
  void expect_kept(const Model& model) const {
    const Model read = again(model);
    if (GetParam() != "onnx") {
      EXPECT_EQ(ModelText::of(read, false), ModelText::of(model, false));
    }
    expect_same_outputs(read, model);
  }
  /// Bit for bit, by the reference.
  static void expect_same_outputs(const Model& found, const Model& expected) {
    Rng rng(7);
    std::vector<Tensor> inputs;
    for (const ValueId input : expected.inputs)
      inputs.push_back(testing::random_tensor(rng, with_batch(expected.values[input].shape, 2)));
    const std::vector<Bounded> right = evaluate(expected, inputs);
    const std::vector<Bounded> made = evaluate(found, inputs);
    ASSERT_EQ(made.size(), right.size());
    for (std::size_t i = 0; i < right.size(); ++i) {
      EXPECT_EQ(made[i].shape, right[i].shape);
      const bool same = std::equal(
          made[i].values.begin(), made[i].values.end(), right[i].values.begin(), right[i].values.end(),
          [](double found, double wanted) { return found == wanted || (std::isnan(found) && std::isnan(wanted)); });
      EXPECT_TRUE(same) << "output " << i + 1;
    }
  }
  /// A model of one operation on an input of that shape.
  void expect_kept(Operation operation, const Shape& input) const {
    ModelBuilder builder;
    const ValueId x = builder.input(input);
    expect_kept(builder.finish({builder.add(std::move(operation), {x})}));
  }

  TemporaryDirectory directory_;
};

TEST_P(WrittenModel, ConvolutionsAreKept) {
  for (const testing::ModelCase& one : testing::convolution_battery()) {
    SCOPED_TRACE(one.name);
    expect_kept(one.model);
  }
}

/// More numbers than writers convert to dense at a time.
TEST_P(WrittenModel, LargeMatricesAreKept) {
  Rng rng(5);
  expect_kept(testing::random_linear(rng, 3000, 800, 0.002), {kBatchExtent, 3000});
  expect_kept(testing::random_linear(rng, 401, 500, 0.9), {kBatchExtent, 401});
}

/// Files of outputs and --output name them.
TEST_P(WrittenModel, SeveralOutputsKeepTheirNames) {
  Model model = testing::small_network(1, 0.3).model;
  model.values[model.outputs[0]].name = "logits";
  model.values[model.outputs[1]].name = "scores";
  model.nodes.front().name = "logits";  // the output keeps its name although a node has it, too
  EXPECT_EQ(output_names(again(model)), (std::vector<std::string>{"logits", "scores"}));
}

TEST_P(WrittenModel, NetworksAreKept) {
  for (std::uint32_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(seed);
    expect_kept(testing::small_network(seed, 0.3).model);
    expect_kept(testing::RandomModel(seed).make(20, 2).model);
  }
}

TEST_P(WrittenModel, ActivationsAreKept) {
  using Kind = Activation::Kind;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const Shape shape{kBatchExtent, 3, 4, 5};
  for (const Kind kind : {Kind::relu, Kind::sigmoid, Kind::tanh, Kind::hard_swish, Kind::identity})
    expect_kept(make_activation(kind), shape);
  for (int kind = static_cast<int>(Kind::softplus); kind <= static_cast<int>(Kind::atanh); ++kind)
    expect_kept(make_activation(static_cast<Kind>(kind)), shape);
  expect_kept(make_activation(Kind::elu, 0.7F), shape);
  expect_kept(make_activation(Kind::leaky_relu, 0.1F), shape);
  expect_kept(make_activation(Kind::hard_sigmoid, 1.F / 6, 0.5F), shape);
  expect_kept(make_clip(0, 6), shape);
  expect_kept(make_clip(-0.1F, kInfinity), shape);
  expect_kept(make_clip(-kInfinity, 6), shape);
  expect_kept(make_clip(-kInfinity, std::numeric_limits<float>::max()), shape);
  Activation prelu = make_activation(Kind::prelu);
  prelu.alphas = {0.1F, -0.0F, 1e-40F};
  expect_kept(prelu, shape);
}

TEST_P(WrittenModel, OtherOperationsAreKept) {
  Rng rng(3);
  const Shape shape{kBatchExtent, 3, 6, 5};
  Window window{.kernel = {3, 2}, .stride = {2, 1}, .dilation = {1, 2}, .pad_begin = {1, 0}, .pad_end = {0, 1}};
  for (const bool flag : {false, true}) {
    expect_kept(Pool{.kind = Pool::Kind::max, .window = window, .round_up = flag}, shape);
    expect_kept(Pool{.kind = Pool::Kind::average, .window = window, .round_up = !flag, .count_padding = flag}, shape);
  }
  expect_kept(Pool{.window = {.kernel = {1, 2}, .stride = {1, 2}}}, {kBatchExtent, 3, 8});
  expect_kept(GlobalPool{Pool::Kind::max}, shape);
  expect_kept(GlobalPool{Pool::Kind::average}, shape);
  expect_kept(testing::random_norm(rng, 3), shape);
  expect_kept(testing::random_linear(rng, 5, 7, 0.4), shape);
  expect_kept(Linear{testing::random_weights(rng, 7, 5, 0.4), {}}, {2, 5});
  for (const Index outputs : {1U, 7U}) expect_kept(testing::random_linear(rng, 5, outputs, 0.8), {kBatchExtent, 5});
  expect_kept(Softmax{3}, shape);
  for (const auto kind : {Reduce::Kind::sum, Reduce::Kind::product, Reduce::Kind::maximum, Reduce::Kind::minimum})
    expect_kept(Reduce{kind, {1, 3}}, shape);
  expect_kept(Reshape{{kBatchExtent, 90}}, shape);
  expect_kept(Reshape{{kBatchExtent, 5, 18}}, shape);
  expect_kept(Reshape{{kBatchExtent, 45}}, {2, 3, 6, 5});
  expect_kept(Reshape{{4, 45}}, {2, 3, 6, 5});  // as flat as flatten(), but of more images
  expect_kept(Reshape{{2, 90}}, {2, 3, 6, 5});
  expect_kept(Transpose{{0, 3, 1, 2}}, shape);
  expect_kept(Pad{{0, 0, 1, 2}, {0, 1, 0, 3}, -0.3F}, shape);
  expect_kept(Pad{{0, -1, 0, 2}, {0, 0, -2, -3}, -0.3F}, shape);
  expect_kept(Resize{.kind = Resize::Kind::linear,
                     .place = Resize::Place::half_pixel,
                     .rounding = Resize::Rounding::half_down,
                     .size = {12, 9},
                     .scale = {2, 1.8F}},
              shape);
  expect_kept(Resize{.kind = Resize::Kind::nearest,
                     .place = Resize::Place::align_corners,
                     .rounding = Resize::Rounding::up,
                     .size = {3, 5},
                     .scale = {0.5F, 1}},
              shape);
}

TEST_P(WrittenModel, ConstantsAndOperationsOfTwoAreKept) {
  ModelBuilder builder;
  const ValueId x = builder.input({kBatchExtent, 2, 3, 3});
  const ValueId by_channel = builder.constant(make_tensor({2, 1, 1}, {0.5F, -0.0F}));
  const ValueId scalar = builder.constant(make_tensor({}, {3}));
  using Kind = Elementwise::Kind;
  const ValueId sum = builder.add(Elementwise{Kind::add}, {x, by_channel});
  const ValueId difference = builder.add(Elementwise{Kind::subtract}, {by_channel, sum});
  const ValueId product = builder.add(Elementwise{Kind::multiply}, {difference, x});
  const ValueId quotient = builder.add(Elementwise{Kind::divide}, {product, scalar});
  const ValueId largest = builder.add(Elementwise{Kind::maximum}, {quotient, x});
  const ValueId least = builder.add(Elementwise{Kind::minimum}, {largest, sum});
  const ValueId power = builder.add(Elementwise{Kind::power}, {least, scalar});
  const ValueId matrices = builder.add(MatMul{}, {power, x});
  const ValueId joined = builder.add(Concat{2}, {quotient, x, matrices});
  const ValueId last = builder.add(Concat{1}, {joined, joined});
  static_cast<void>(last);
  expect_kept(builder.finish({joined}));
}

TEST_P(WrittenModel, AConstantMayHaveALaterNumberThanWhatReadsIt) {
  ModelBuilder builder;
  const ValueId x = builder.input({kBatchExtent, 2});
  const ValueId constant = builder.constant(make_tensor({2}, {0.5F, 3}));
  Model model = builder.finish({builder.add(Elementwise{Elementwise::Kind::add}, {x, constant})});
  const ValueId sum = model.outputs[0];
  std::swap(model.values[constant], model.values[sum]);
  model.nodes[0].inputs[1] = sum;
  model.nodes[0].output = model.outputs[0] = constant;
  expect_same_outputs(again(model), model);
}

TEST_P(WrittenModel, FamiliesAreKept) {
  for (const char* family : testing::sampled({"lenet5", "random"}, {"lenet5", "vgg8", "random"})) {
    SCOPED_TRACE(family);
    expect_kept(generate_model({.family = family, .sparsity = {0.97}}));
  }
  for (const char* family : testing::sampled({"mobilenet"}, {"resnet50", "mobilenet", "densenet"})) {
    SCOPED_TRACE(family);
    expect_kept(generate_model({.family = family, .sparsity = {0.995}, .image = Shape{3, 32, 32}, .classes = 5}));
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, WrittenModel, ::testing::Values("safetensors", "spdnn", "onnx"),
                         [](const auto& form) { return form.param; });

}  // namespace
}  // namespace spdnn
