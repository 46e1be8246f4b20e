// Numbers of a model beyond fp32: bounds that exclude them, engines that detect them although activations hide them,
// and the verdict of such a run.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "engines/model_engine.hpp"
#include "inference/model/run_report.hpp"
#include "inference/ranks/inference_on_ranks.hpp"
#include "model/graph/magnitudes.hpp"
#include "model/graph/node_text.hpp"
#include "model/oracle/evaluate.hpp"
#include "spdnn/model_inference.hpp"
#include "support/models.hpp"
#include "support/thread_ranks.hpp"

namespace spdnn {
namespace {

using testing::make_tensor;
using testing::ModelBuilder;
using testing::ModelCase;
using Function = Activation::Kind;

// ---- Bounds ----

/// The largest absolute value of each value of the model, as the reference computes it.
std::vector<double> largest_values(const ModelCase& one) {
  Model open = one.model;
  open.outputs.clear();
  for (ValueId id = 0; id < open.values.size(); ++id) open.outputs.push_back(id);
  std::vector<double> largest;
  for (const Bounded& value : evaluate(open, one.inputs)) {
    largest.push_back(0);
    for (const double number : value.values) largest.back() = std::max(largest.back(), std::abs(number));
  }
  return largest;
}

void expect_within_magnitudes(const ModelCase& one) {
  const std::vector<double> found = largest_values(one);
  const Magnitudes magnitudes(one.model);
  for (Index number = 0; number < one.model.nodes.size(); ++number) {
    const Node& node = one.model.nodes[number];
    std::vector<double> inputs;
    for (const ValueId id : node.inputs) inputs.push_back(found[id]);
    const Magnitude magnitude = magnitudes.of(number, inputs);
    EXPECT_LE(found[node.output], magnitude.result * (1 + 1e-12)) << one.name << ", " << node.name;
    EXPECT_GE(magnitude.inside, 0) << node.name;
  }
}

TEST(Magnitudes, NoValueOfAModelExceedsThem) {
  for (std::uint32_t seed = 0; seed < 40; ++seed) {
    expect_within_magnitudes(testing::RandomModel(seed).make(25, 2));
    expect_within_magnitudes(testing::small_network(seed, 0.4));
  }
  for (const ModelCase& one : testing::convolution_battery()) expect_within_magnitudes(one);
}

/// Checks the bound of one operation on a value of 2 channels and 2 x 2 pixels, up to 8.
Magnitude magnitude_of_one(const Operation& operation, const Tensor* second = nullptr) {
  ModelBuilder builder;
  std::vector<ValueId> inputs{builder.input({kBatchExtent, 2, 2, 2})};
  std::vector<double> largest{8};
  if (second != nullptr) {
    inputs.push_back(builder.constant(*second));
    largest.push_back(magnitude_of(*second));
  }
  const Model model = builder.finish({builder.add(operation, inputs)});
  return Magnitudes(model).of(0, largest);
}

void expect_magnitude(const Operation& operation, double inside, double result) {
  const Magnitude found = magnitude_of_one(operation);
  EXPECT_EQ(found.inside, inside) << operation_name(operation);
  EXPECT_EQ(found.result, result) << operation_name(operation);
}

TEST(Magnitudes, ByHand) {
  Convolution convolution;
  convolution.weights = testing::make_matrix(2, {{{0, 1.F}, {1, -2.F}}, {{1, 2.5F}}});
  convolution.bias = {0, -5};
  expect_magnitude(convolution, 25, 25);                                    // 8 x 2.5 + 5, not 8 x 3
  expect_magnitude(BatchNorm{{1, 2}, {3, 4}, {-1, 0}, {1, 4}, 0}, 20, 20);  // the division may come last
  const Window halves{.kernel = {2, 2}, .stride = {2, 2}};
  expect_magnitude(Pool{Pool::Kind::max, halves}, 8, 8);
  expect_magnitude(Pool{Pool::Kind::average, halves}, 32, 8);
  expect_magnitude(GlobalPool{Pool::Kind::average}, 32, 8);
  expect_magnitude(GlobalPool{Pool::Kind::max}, 8, 8);
  expect_magnitude(testing::make_clip(-2, 6), 8, 6);
  expect_magnitude(testing::make_clip(-20, 60), 8, 8);
  expect_magnitude(testing::make_activation(Function::leaky_relu, -3), 24, 24);
  expect_magnitude(testing::make_activation(Function::leaky_relu, 0.5F), 8, 8);
  Activation prelu = testing::make_activation(Function::prelu);
  prelu.alphas = {-4, 2};
  expect_magnitude(prelu, 32, 32);
  expect_magnitude(testing::make_activation(Function::sigmoid), 8, 1);
  expect_magnitude(testing::make_activation(Function::tanh), 8, 1);
  expect_magnitude(testing::make_activation(Function::hard_sigmoid, -2, 3), 19, 1);
  expect_magnitude(testing::make_activation(Function::hard_swish), 66, 8);
  expect_magnitude(Softmax{}, 16, 1);
  expect_magnitude(Pad{{0, 0, 1, 0}, {0, 0, 0, 0}, -9}, 9, 9);
  const Tensor numbers = make_tensor({2, 1, 1}, {-4, 0.5F});
  EXPECT_EQ(magnitude_of_one(Elementwise{Elementwise::Kind::subtract}, &numbers).result, 12);
  EXPECT_EQ(magnitude_of_one(Elementwise{Elementwise::Kind::multiply}, &numbers).result, 32);
  EXPECT_EQ(magnitude_of_one(Elementwise{Elementwise::Kind::divide}, &numbers).result, 16);
  const Tensor zero = make_tensor({1}, {0});
  EXPECT_TRUE(std::isinf(magnitude_of_one(Elementwise{Elementwise::Kind::divide}, &zero).result));
}

// ---- The reference ----

TEST(ModelReference, WhatIsNoNumberStaysNone) {
  const Tensor images = make_tensor({1, 1, 1, 3}, {1, NAN, -2});
  const auto of = [&](const Operation& operation) {
    const Bounded x = exactly(images);
    return evaluate(operation, {&x}).values;
  };
  Activation prelu = testing::make_activation(Function::prelu);
  prelu.alphas = {0.5F};
  for (const Activation& activation :
       {Activation{}, testing::make_clip(0, 6), testing::make_activation(Function::leaky_relu, 0.1F), prelu,
        testing::make_activation(Function::sigmoid), testing::make_activation(Function::tanh),
        testing::make_activation(Function::hard_sigmoid, 0.2F, 0.5F), testing::make_activation(Function::hard_swish)}) {
    const std::vector<double> values = of(activation);
    EXPECT_TRUE(std::isnan(values[1])) << operation_name(activation);
    EXPECT_FALSE(std::isnan(values[0]) || std::isnan(values[2])) << operation_name(activation);
  }
  const Window pairs{.kernel = {1, 2}};
  for (const Pool::Kind kind : {Pool::Kind::max, Pool::Kind::average}) {
    EXPECT_TRUE(std::isnan(of(GlobalPool{kind})[0]));
    for (const double value : of(Pool{kind, pairs})) EXPECT_TRUE(std::isnan(value));
  }
}

// ---- Engines ----

class ModelOverflow : public ::testing::TestWithParam<std::string> {
 protected:
  /// Whether the variant computes in fp64, which holds the numbers of these tests.
  bool in_fp64() const { return GetParam() == "conv_reference"; }

  std::unique_ptr<ModelEngine> engine_of(const Model& model, Index batch) const {
    const ModelVariant& variant = find_model_variant(GetParam());
    const ModelEngineOptions options{.precision = variant.precisions.front(), .batch = batch, .threads = 2};
    return make_engine(variant, std::make_shared<const Model>(model), options);
  }
  static bool overflows(ModelEngine& engine, const Model& model, const Tensor& images) {
    const auto depth = static_cast<Index>(model.nodes.size());
    engine.load(images);
    for (Index next = 0; next < depth;) next = engine.advance(next, depth);
    return engine.overflow().has_value();
  }
  bool overflows(const Model& model, const Tensor& images) const {
    return overflows(*engine_of(model, static_cast<Index>(images.shape[0])), model, images);
  }
};

TEST_P(ModelOverflow, OrdinaryModelsHaveNone) {
  for (std::uint32_t seed = 0; seed < 10; ++seed)
    for (const ModelCase& one : {testing::RandomModel(seed).make(30, 2), testing::small_network(seed, 0.4)})
      EXPECT_FALSE(overflows(one.model, one.inputs.front())) << seed;
}

/// Linear layers of 64 inputs, each followed by a relu, and a clip that makes the end finite whatever came before.
Model deep(float weight, bool alternating) {
  testing::Rng rng(3);
  ModelBuilder builder;
  ValueId x = builder.input({kBatchExtent, 64});
  for (int layer = 0; layer < 50; ++layer) {
    testing::Rows rows(64);
    for (auto& row : rows)
      for (Index column = 0; column < 64; ++column)
        row.emplace_back(column, alternating && rng.below(2) == 0 ? -weight : weight);
    x = builder.add(Activation{}, {builder.add(Linear{testing::make_matrix(64, rows), {}}, {x})});
  }
  return builder.finish({builder.add(testing::make_clip(0, 1), {x})});
}

/// No bound on sums excludes overflow in a model of this depth, but its values do.
TEST_P(ModelOverflow, DeepModelsOfSmallValuesHaveNone) {
  const Model model = deep(0.125F, true);
  testing::Rng rng(5);
  EXPECT_FALSE(overflows(model, testing::random_tensor(rng, {3, 64})));
}

TEST_P(ModelOverflow, WhatGrowsBeyondFp32IsNoticedThoughTheEndIsFinite) {
  const Model model = deep(8, false);
  const auto engine = engine_of(model, 2);
  EXPECT_EQ(overflows(*engine, model, make_tensor({2, 64}, std::vector<float>(128, 1))), !in_fp64());
  EXPECT_EQ(engine->output().values[0], 1.F);
  EXPECT_FALSE(overflows(*engine, model, make_tensor({2, 64}, std::vector<float>(128, 0)))) << "of the batch before";
}

TEST_P(ModelOverflow, ASumThatAReluHidesIsNoticed) {
  ModelBuilder builder;
  const ValueId x = builder.input({kBatchExtent, 4, 3, 3});
  testing::Rows rows(2);
  for (auto& row : rows)
    for (Index column = 0; column < 4; ++column) row.emplace_back(column, 1.F);
  Convolution convolution;
  convolution.weights = testing::make_matrix(4, rows);
  const Model model = builder.finish({builder.add(Activation{}, {builder.add(convolution, {x})})});
  EXPECT_EQ(overflows(model, make_tensor({1, 4, 3, 3}, std::vector<float>(36, -3e38F))), !in_fp64());
  EXPECT_FALSE(overflows(model, make_tensor({1, 4, 3, 3}, std::vector<float>(36, -3e20F))));
}

TEST_P(ModelOverflow, HugeWeightsOverflowUnlessTheValuesAreSmall) {
  const auto of = [](float weight) {
    ModelBuilder builder;
    const ValueId x = builder.input({kBatchExtent, 2});
    const Linear linear{testing::make_matrix(2, {{{0, weight}, {1, weight}}}), {}};
    return builder.finish({builder.add(testing::make_clip(0, 1), {builder.add(linear, {x})})});
  };
  EXPECT_EQ(overflows(of(3e38F), make_tensor({1, 2}, {1, 1})), !in_fp64());
  EXPECT_FALSE(overflows(of(1e30F), make_tensor({1, 2}, {1, 1})));
  EXPECT_EQ(overflows(of(1e30F), make_tensor({1, 2}, {1e9F, 1})), !in_fp64());
}

/// Engines store blocks of 16 channels; the places that fill up the last block must stay zero.
TEST_P(ModelOverflow, ABatchThatOverflowedLeavesNothingBehind) {
  testing::Rng rng(9);
  ModelBuilder builder;
  const ValueId x = builder.input({kBatchExtent, 3, 6, 6});
  const auto convolved = [&](ValueId value, Index channels, Index filters) {
    return builder.add(testing::random_convolution(rng, channels, filters, testing::same_window(3, 3), 1), {value});
  };
  const ValueId mean = builder.add(GlobalPool{}, {convolved(x, 3, 20)});
  ValueId y = builder.add(Elementwise{Elementwise::Kind::multiply}, {convolved(x, 3, 20), mean});
  y = builder.add(Elementwise{}, {y, builder.constant(testing::random_tensor(rng, {20, 1, 1}))});
  y = convolved(builder.add(Activation{}, {convolved(y, 20, 20)}), 20, 5);
  const Model model = builder.finish({y});
  const Tensor images = testing::random_tensor(rng, {2, 3, 6, 6});
  const auto engine = engine_of(model, 2);
  EXPECT_FALSE(overflows(*engine, model, images));
  const Tensor before = engine->output();
  for (const float pixel : {3e38F, -3e38F}) {
    EXPECT_TRUE(overflows(*engine, model, make_tensor({2, 3, 6, 6}, std::vector<float>(216, pixel))));
    EXPECT_FALSE(overflows(*engine, model, images));
    const Tensor after = engine->output();
    EXPECT_TRUE(std::equal(before.values.begin(), before.values.end(), after.values.begin()));
  }
}

TEST_P(ModelOverflow, QuotientsOfZeroAreNoticed) {
  ModelBuilder builder;
  const ValueId x = builder.input({kBatchExtent, 2, 1, 2});
  const ValueId mean = builder.add(GlobalPool{}, {x});
  const ValueId quotient = builder.add(Elementwise{Elementwise::Kind::divide}, {x, mean});
  const auto expect_noticed = [&](const Model& model) {
    EXPECT_FALSE(overflows(model, make_tensor({1, 2, 1, 2}, {1, 2, 3, 4})));
    EXPECT_TRUE(overflows(model, make_tensor({1, 2, 1, 2}, {1, 2, 3, -3})));
    EXPECT_TRUE(overflows(model, make_tensor({1, 2, 1, 2}, {1, 2, 0, 0})));
  };
  ModelBuilder with_clip = builder;
  expect_noticed(builder.finish({quotient}));
  expect_noticed(with_clip.finish({with_clip.add(testing::make_clip(0, 1), {quotient})}));
}

INSTANTIATE_TEST_SUITE_P(Each, ModelOverflow, ::testing::Values("conv_reference", "conv_dense", "sparse"),
                         [](const auto& one) { return one.param; });

TEST(ModelOverflowInBf16, IsNoticed) {
  const ModelVariant& variant = find_model_variant("conv_dense");
  const ModelEngineOptions options{.precision = Precision::bf16, .batch = 1, .threads = 2};
  const Model model = deep(8, false);
  const Support support = support_of(variant, model, options);
  if (!support.takes()) GTEST_SKIP() << support.why_not;
  const auto engine = make_engine(variant, std::make_shared<const Model>(model), options);
  for (const float pixel : {0.F, 1.F}) {
    engine->load(make_tensor({1, 64}, std::vector<float>(64, pixel)));
    for (Index next = 0; next < model.nodes.size();)
      next = engine->advance(next, static_cast<Index>(model.nodes.size()));
    EXPECT_EQ(engine->overflow().has_value(), pixel != 0);
  }
}

// ---- Runs ----

ModelSpec with_labels() {
  ModelSpec spec;
  spec.threads = 1;
  spec.truth.label_list = {0, 0, 0, 0};
  spec.truth.min_accuracy = 0.5;
  return spec;
}

/// Two classes; sums of large pixels exceed fp32, which the clip hides.
Model two_classes() {
  ModelBuilder builder;
  const ValueId x = builder.input({kBatchExtent, 2});
  const Linear linear{testing::make_matrix(2, {{{0, 2.F}, {1, 2.F}}, {{0, -1.F}, {1, -1.F}}}), {}};
  return builder.finish({builder.add(testing::make_clip(0, 1), {builder.add(linear, {x})})});
}

TEST(ModelOverflowOfARun, IsNeverPassed) {
  const Tensor small = make_tensor({4, 2}, {1, 1, 1, 1, 1, 1, 3, 3});
  const Tensor first = make_tensor({4, 2}, {3e38F, 3e38F, 1, 1, 1, 1, 1, 1});
  const Tensor last = make_tensor({4, 2}, {1, 1, 1, 1, 1, 1, 3e38F, 3e38F});
  for (const Tensor& images : {small, first, last})
    for (const Index batch : {1U, 4U}) {
      ModelSpec spec = with_labels();
      spec.batch = batch;
      ModelInference inference(spec);
      inference.load(two_classes(), images);
      inference.plan();
      inference.run();
      inference.verify();
      const ModelReport& report = inference.report();
      const bool overflows = images.values[0] > 1e30F || images.values[6] > 1e30F;
      EXPECT_EQ(report.accuracy->correct, 4U);
      EXPECT_EQ(report.overflow, overflows ? "node 1 \"node0\" (linear)" : "");
      EXPECT_EQ(report.verdict.status, overflows ? Verdict::Status::unverified : Verdict::Status::passed);
      EXPECT_EQ(to_text(report).find("numbers may have exceeded fp32 from node 1 \"node0\" (linear) on;") !=
                    std::string::npos,
                overflows);
      EXPECT_EQ(report.verdict.against.ends_with(", but sums may have overflowed"), overflows);
    }
}

/// Where a node is known from which on numbers may have been too large, it is named; else the first such output.
TEST(ModelOverflowOfARun, OutputsThatAreNotFiniteAreNamed) {
  for (const bool known : {false, true}) {
    ModelReport report;
    report.variant = "v";
    report.outputs = {{"a", {kBatchExtent, 1}}, {"b", {kBatchExtent, 1}}, {"c", {kBatchExtent, 1}}};
    RankedModelResult all;
    all.result.infer_seconds = {1};
    const float inf = std::numeric_limits<float>::infinity();
    all.result.outputs = {make_tensor({2, 1}, {1, 2}), make_tensor({2, 1}, {1, inf}),
                          make_tensor({2, 1}, {std::nanf(""), 1})};
    if (known) all.result.overflow = 0;
    ModelBuilder nodes;
    const Model run = nodes.finish({nodes.add(Activation{}, {nodes.input({kBatchExtent, 1})})});
    record_run(std::move(all), run, {}, report);
    EXPECT_EQ(report.overflow, known ? node_text(run, 0) : "the output \"b\"");
    EXPECT_EQ(report.notes, (std::vector<std::string>{"some numbers of the output \"b\" are infinite or no numbers",
                                                      "some numbers of the output \"c\" are infinite or no numbers"}));
  }
}

TEST(ModelOverflowOfARun, OnOneRankIsThatOfAll) {
  for (const std::size_t large : {0U, 3U}) {
    std::vector<float> pixels(8, 1);
    pixels[2 * large] = pixels[2 * large + 1] = 3e38F;
    std::string overflow;
    const auto work = [&](Communicator& rank) {
      ModelInferenceOnRanks inference(with_labels(), rank);
      if (rank.is_root())
        inference.load(two_classes(), make_tensor({4, 2}, pixels));
      else
        inference.load();
      inference.plan();
      inference.run();
      inference.verify();
      if (!rank.is_root()) return;
      overflow = inference.report().overflow;
      EXPECT_EQ(inference.report().verdict.status, Verdict::Status::unverified);
    };
    for (const auto& thrown : testing::on_ranks(2, work)) EXPECT_EQ(thrown, nullptr);
    EXPECT_EQ(overflow, "node 1 \"node0\" (linear)");
  }
}

}  // namespace
}  // namespace spdnn
