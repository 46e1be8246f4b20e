#include <gtest/gtest.h>

#include <limits>
#include <thread>

#include "io/export/safetensors.hpp"
#include "io/import/safetensors.hpp"
#include "support/hostile_files.hpp"
#include "support/model_text.hpp"
#include "support/models.hpp"
#include "temporary_directory.hpp"

namespace spdnn {
namespace {

using testing::Dice;
using testing::make_activation;
using testing::make_clip;
using testing::make_tensor;
using testing::ModelBuilder;
using testing::ModelText;
using testing::same_window;

class WrittenModel : public ::testing::Test {
 protected:
  Model again(const Model& model) const {
    const auto path = directory_ / "model.safetensors";
    write_safetensors(path, model);
    return read_safetensors(path);
  }
  /// What is read is the model, but for names.
  void expect_kept(const Model& model) const {
    const Model once = again(model);
    once.validate();
    EXPECT_EQ(ModelText::of(once, false), ModelText::of(model, false));
  }
  /// A model of one operation on an input of that shape.
  void expect_kept(Operation operation, const Shape& input) const {
    ModelBuilder builder;
    const ValueId x = builder.input(input);
    expect_kept(builder.finish({builder.add(std::move(operation), {x})}));
  }

  TemporaryDirectory directory_;
};

Model only_first_output(Model model) {
  model.outputs.resize(1);
  return model;
}

TEST_F(WrittenModel, ConvolutionsAreKept) {
  for (const testing::ModelCase& one : testing::convolution_battery()) {
    SCOPED_TRACE(one.name);
    expect_kept(one.model);
  }
}

/// More numbers than the writer makes dense at a time.
TEST_F(WrittenModel, LargeMatricesAreKept) {
  Dice dice(5);
  expect_kept(testing::random_linear(dice, 3000, 800, 0.002), {kBatchExtent, 3000});
}

TEST_F(WrittenModel, NetworksAreKept) {
  for (std::uint32_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(seed);
    expect_kept(only_first_output(testing::small_network(seed, 0.3).model));
    expect_kept(only_first_output(testing::RandomModel(seed).make(20, 2).model));
  }
}

TEST_F(WrittenModel, ActivationsAreKept) {
  using Kind = Activation::Kind;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const Shape shape{kBatchExtent, 3, 4, 5};
  for (const Kind kind : {Kind::relu, Kind::sigmoid, Kind::tanh, Kind::hard_swish, Kind::identity})
    expect_kept(make_activation(kind), shape);
  expect_kept(make_activation(Kind::leaky_relu, 0.1F), shape);
  expect_kept(make_activation(Kind::hard_sigmoid, 1.F / 6, 0.5F), shape);
  expect_kept(make_clip(0, 6), shape);
  expect_kept(make_clip(-0.1F, kInfinity), shape);
  expect_kept(make_clip(-kInfinity, std::numeric_limits<float>::max()), shape);
  Activation prelu = make_activation(Kind::prelu);
  prelu.alphas = {0.1F, -0.0F, 1e-40F};
  expect_kept(prelu, shape);
}

TEST_F(WrittenModel, OtherOperationsAreKept) {
  Dice dice(3);
  const Shape shape{kBatchExtent, 3, 6, 5};
  Window window{.kernel = {3, 2}, .stride = {2, 1}, .dilation = {1, 2}, .pad_begin = {1, 0}, .pad_end = {0, 1}};
  for (const bool flag : {false, true}) {
    expect_kept(Pool{.kind = Pool::Kind::max, .window = window, .round_up = flag}, shape);
    expect_kept(Pool{.kind = Pool::Kind::average, .window = window, .round_up = !flag, .count_padding = flag}, shape);
  }
  expect_kept(Pool{.window = {.kernel = {1, 2}, .stride = {1, 2}}}, {kBatchExtent, 3, 8});
  expect_kept(GlobalPool{Pool::Kind::max}, shape);
  expect_kept(GlobalPool{Pool::Kind::average}, shape);
  expect_kept(testing::random_norm(dice, 3), shape);
  expect_kept(testing::random_linear(dice, 5, 7, 0.4), shape);
  expect_kept(Linear{testing::random_weights(dice, 7, 5, 0.4), {}}, {2, 5});
  expect_kept(Softmax{3}, shape);
  expect_kept(Reshape{{kBatchExtent, 90}}, shape);
  expect_kept(Reshape{{kBatchExtent, 5, 18}}, shape);
  expect_kept(Reshape{{kBatchExtent, 45}}, {2, 3, 6, 5});
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

TEST_F(WrittenModel, ConstantsAndOperationsOfTwoAreKept) {
  ModelBuilder builder;
  const ValueId x = builder.input({kBatchExtent, 2, 3, 3});
  const ValueId by_channel = builder.constant(make_tensor({2, 1, 1}, {0.5F, -0.0F}));
  const ValueId scalar = builder.constant(make_tensor({}, {3}));
  using Kind = Elementwise::Kind;
  const ValueId sum = builder.add(Elementwise{Kind::add}, {x, by_channel});
  const ValueId difference = builder.add(Elementwise{Kind::subtract}, {by_channel, sum});
  const ValueId product = builder.add(Elementwise{Kind::multiply}, {difference, x});
  const ValueId quotient = builder.add(Elementwise{Kind::divide}, {product, scalar});
  const ValueId joined = builder.add(Concat{2}, {quotient, x, sum});
  const ValueId last = builder.add(Concat{1}, {joined, joined});
  static_cast<void>(last);
  expect_kept(builder.finish({joined}));
}

TEST_F(WrittenModel, NamesBecomeTheNodesOwn) {
  ModelBuilder builder;
  const ValueId x = builder.input({kBatchExtent, 2});
  ValueId y = x;
  for (int i = 0; i < 5; ++i) y = builder.add(Activation{}, {y});
  Model model = builder.finish({y});
  model.name = "five \"lines\"";
  const std::vector<std::string> names{"a", "a", "input", "", "a_2"};
  for (std::size_t n = 0; n < names.size(); ++n) model.nodes[n].name = names[n];
  const Model read = again(model);
  EXPECT_EQ(read.name, model.name);
  std::vector<std::string> found;
  for (const Node& node : read.nodes) found.push_back(node.name);
  EXPECT_EQ(found, (std::vector<std::string>{"a", "a_2", "input_2", "value4", "a_2_2"}));
  EXPECT_EQ(ModelText::of(again(read), true), ModelText::of(read, true));
}

TEST_F(WrittenModel, WhatTheFormatLacksIsRefusedByName) {
  const auto path = directory_ / "model.safetensors";
  const auto refused = [&](Model model, std::string_view part) {
    model.name = "net";
    expect_refused(path, part, [&] { write_safetensors(path, model); });
    EXPECT_TRUE(std::filesystem::is_empty(directory_.path())) << part;
  };
  const Model sound = testing::small_network(1, 0.3).model;
  refused(sound, "cannot hold the model 'net': it has 2 outputs, expected one");
  Model two = only_first_output(sound);
  two.inputs.push_back(0);
  refused(two, "it has 2 inputs, expected one");
  ModelBuilder deep;
  const ValueId x = deep.input({kBatchExtent, 1, 1, 1, 1});
  refused(deep.finish({deep.add(Activation{}, {x})}), "its input is N x 1 x 1 x 1 x 1, expected 2 to 4 axes");
  Model same = only_first_output(sound);
  same.outputs = same.inputs;
  refused(same, "its output 'input0' is not that of a node");
  Model latin = only_first_output(sound);
  latin.nodes[0].name = "caf\xe9";
  refused(latin, "a name in it is not UTF-8");
}

TEST_F(WrittenModel, AnotherModelsArchitectureIsNotReplaced) {
  const Model model = only_first_output(testing::small_network(1, 0.3).model);
  const auto beside = written(directory_ / "architecture.json", "another's");
  expect_refused(beside, "belongs to another model", [&] { write_safetensors(directory_ / "m.safetensors", model); });
  EXPECT_FALSE(exists(directory_ / "m.safetensors"));
  EXPECT_EQ(file_size(beside), 9U);
}

TEST_F(WrittenModel, OfTwoWritersAtOnceOneWins) {
  const std::vector<Model> models{only_first_output(testing::small_network(1, 0.3).model),
                                  only_first_output(testing::RandomModel(2).make(30, 2).model)};
  for (int round = 0; round < 6; ++round) {
    std::vector<std::thread> writers;
    for (const Model& model : models)
      writers.emplace_back([&] { write_safetensors(directory_ / "m.safetensors", model); });
    for (std::thread& writer : writers) writer.join();
    const std::string found = ModelText::of(read_safetensors(directory_ / "m.safetensors"), false);
    EXPECT_TRUE(found == ModelText::of(models[0], false) || found == ModelText::of(models[1], false));
  }
}

}  // namespace
}  // namespace spdnn
