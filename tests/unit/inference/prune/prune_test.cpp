// Models that are pruned layer by layer: counts, repair, norms, predictions of time, files of shares.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "inference/model/accuracy.hpp"
#include "inference/prune/measure.hpp"
#include "inference/prune/node_seconds.hpp"
#include "inference/prune/prune_model.hpp"
#include "inference/prune/shares_file.hpp"
#include "inference/prune/value_run.hpp"
#include "model/graph/node_work.hpp"
#include "spdnn/error.hpp"
#include "spdnn/files.hpp"
#include "support/message_of.hpp"
#include "support/models.hpp"
#include "temporary_directory.hpp"

namespace spdnn {
namespace {

using testing::kN;
using testing::make_activation;
using testing::ModelBuilder;
using testing::random_convolution;
using testing::random_linear;
using testing::random_norm;
using testing::random_tensor;
using testing::Rng;

/// A stem of 9 weights a filter, a convolution of 72, a norm, and a linear node of 64 inputs.
Model small_model() {
  Rng rng(11);
  ModelBuilder builder;
  ValueId x = builder.input({kN, 1, 8, 8});
  x = builder.add(random_convolution(rng, 1, 8, testing::same_window(3, 3), 1), {x});
  x = builder.add(make_activation(Activation::Kind::relu), {x});
  x = builder.add(random_convolution(rng, 8, 4, testing::same_window(3, 3), 1, 1, false), {x});
  x = builder.add(random_norm(rng, 4), {x});
  x = builder.add(make_activation(Activation::Kind::relu), {x});
  x = builder.add(Pool{.kind = Pool::Kind::max, .window = {.kernel = {2, 2}, .stride = {2, 2}}}, {x});
  x = builder.add(Reshape{{kN, 64}}, {x});
  x = builder.add(random_linear(rng, 64, 10, 1), {x});
  return builder.finish({x});
}

Tensor pruning_images(Extent count) {
  Rng rng(12);
  return random_tensor(rng, {count, 1, 8, 8});
}

double distance_of(const Pruner& pruner, double share) {
  const Model pruned = pruner.pruned(pruner.shares_of({share, false})).model;
  return Measurer(pruner.dense(), pruning_images(64), 0, {}, {}).measured(pruned).distance;
}

TEST(PruneModel, EachLayerHasItsShareAndFewWeightsStay) {
  const Pruner pruner(small_model(), {}, {});
  const PrunedModel pruned = pruner.pruned(pruner.shares_of({0.75, false}));
  const std::vector<NodeWork> work = work_of(pruned.model);
  EXPECT_EQ(work[0].nonzeros, 72U) << "nine weights a filter";
  EXPECT_EQ(work[2].nonzeros, 72U);
  EXPECT_EQ(work[7].nonzeros, 160U);
  ASSERT_EQ(pruned.nodes.size(), 2U);
  EXPECT_EQ(pruned.nodes[0].node, 2U);
  EXPECT_FALSE(pruned.nodes[0].error_before);
  pruned.model.validate();
}

TEST(PruneModel, FiltersOf32WeightsArePrunedAndFewerStay) {
  for (const Index inputs : {31U, 32U}) {
    Rng rng(11);
    ModelBuilder builder;
    const ValueId x = builder.input({kN, static_cast<Extent>(inputs)});
    const Model model = builder.finish({builder.add(random_linear(rng, inputs, 3, 1), {x})});
    EXPECT_EQ(prunable_nodes(model).size(), inputs == 32 ? 1U : 0U);
  }
}

TEST(PruneModel, AGlobalShareHoldsForAllTogether) {
  const Pruner pruner(small_model(), {}, {});
  const std::vector<NodeWork> work = work_of(pruner.pruned(pruner.shares_of({0.6, true})).model);
  EXPECT_EQ(work[2].nonzeros + work[7].nonzeros, (288U + 640) - 557);
  EXPECT_NE(work[2].nonzeros, 115U);
}

TEST(PruneModel, RepairLowersTheError) {
  const double without = distance_of(Pruner(small_model(), {}, {}), 0.5);
  PruneSettings settings;
  settings.repair_weights = true;
  const Pruner pruner(small_model(), settings, pruning_images(64));
  EXPECT_LT(distance_of(pruner, 0.5), 0.8 * without);
  for (const NodePruning& node : pruner.pruned(pruner.shares_of({0.5, false})).nodes)
    EXPECT_LT(node.error_after.value(), node.error_before.value());
}

/// A convolution of two groups, whose bias is fitted, too.
TEST(PruneModel, RepairFitsTheWeightsOfEachGroupAndTheBias) {
  Rng rng(15);
  ModelBuilder builder;
  ValueId x = builder.input({kN, 8, 6, 6});
  x = builder.add(random_convolution(rng, 8, 6, testing::same_window(3, 3), 1, 2), {x});
  const Model model = builder.finish({x});
  const Tensor images = random_tensor(rng, {32, 8, 6, 6});
  std::vector<float> shifted(images.values.begin(), images.values.end());
  for (float& value : shifted) value += 1;  // so that weights that are gone leave a mean
  const Tensor calibration = testing::make_tensor(images.shape, shifted);
  PruneSettings settings;
  settings.repair_weights = true;
  const Pruner pruner(model, settings, calibration);
  const Pruner plain(model, {}, {});
  const auto distance = [&](const Pruner& by) {
    return Measurer(model, calibration, 0, {}, {}).measured(by.pruned(by.shares_of({0.7, false})).model).distance;
  };
  EXPECT_LT(distance(pruner), 0.8 * distance(plain));
  const auto bias = [](const Model& one) { return std::get<Convolution>(one.nodes[0].operation).bias; };
  EXPECT_NE(bias(pruner.pruned(pruner.shares_of({0.7, false})).model), bias(model));
  EXPECT_EQ(bias(plain.pruned(plain.shares_of({0.7, false})).model), bias(model));
}

TEST(PruneModel, AModelWithoutSharesStaysAsItIs) {
  PruneSettings settings;
  settings.repair_norms = true;
  const Pruner pruner(small_model(), settings, pruning_images(8));
  const PrunedModel same = pruner.pruned(Shares(pruner.dense().nodes.size()));
  EXPECT_TRUE(same.nodes.empty());
  EXPECT_EQ(std::get<BatchNorm>(same.model.nodes[3].operation).mean,
            std::get<BatchNorm>(pruner.dense().nodes[3].operation).mean);
}

TEST(PruneModel, ALayerAloneIsRepairedByTheEquationsOfTheDenseModel) {
  PruneSettings settings;
  settings.repair_weights = true;
  const Pruner pruner(small_model(), settings, pruning_images(64));
  const Pruner::Equations equations = pruner.equations_of(pruner.dense(), 2);
  for (const double share : {0.5, 0.8}) {
    Shares alone(pruner.dense().nodes.size());
    alone[2] = share;
    const auto numbers_of = [](const Model& model) {
      const auto& convolution = std::get<Convolution>(model.nodes[2].operation);
      std::vector<float> numbers = dense_rows(convolution.weights, 0, convolution.weights.rows());
      numbers.insert(numbers.end(), convolution.bias.begin(), convolution.bias.end());
      return numbers;
    };
    const std::vector<float> found = numbers_of(pruner.pruned_alone(2, share, equations));
    EXPECT_EQ(found, numbers_of(pruner.pruned(alone).model));
    EXPECT_NE(found, numbers_of(pruner.masked(alone)));
  }
}

TEST(PruneModel, NumbersTooLargeToFitAreRefused) {
  PruneSettings settings;
  settings.repair_weights = true;
  const Tensor images = pruning_images(4);
  const Tensor large{images.shape, Array<float>(std::vector<float>(images.values.size(), 3e38F))};
  const Pruner pruner(small_model(), settings, large);
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "is too large to fit weights to it", testing::message_of<DataError>([&] {
                        pruner.pruned(pruner.shares_of({0.5, false}));
                      }));
}

TEST(PruneModel, NormsAreReestimated) {
  PruneSettings settings;
  settings.repair_norms = true;
  const Pruner pruner(small_model(), settings, pruning_images(64));
  const auto norm_of = [](const Model& model) { return std::get<BatchNorm>(model.nodes[3].operation); };
  const BatchNorm given = norm_of(pruner.dense());
  EXPECT_NE(norm_of(pruner.pruned(pruner.shares_of({0.5, false})).model).mean, given.mean);
  const BatchNorm same = norm_of(pruner.pruned(pruner.shares_of({0, false})).model);
  for (std::size_t k = 0; k < 4; ++k) EXPECT_NEAR(same.mean[k], given.mean[k], 1e-5);
  EXPECT_LT(distance_of(pruner, 0.5), distance_of(Pruner(small_model(), {}, {}), 0.5));
}

TEST(PruneModel, ActivationsChangeTheChoice) {
  PruneSettings settings;
  settings.by_activations = true;
  Model model = small_model();
  // Channel 0 of the stem becomes large: the weights that read it are worth more.
  Convolution& stem = std::get<Convolution>(model.nodes[0].operation);
  stem.bias[0] = 100;
  const auto read_from_0 = [](const Model& pruned) {
    Offset count = 0;
    for (const Index column : std::get<Convolution>(pruned.nodes[2].operation).weights->indices) count += column < 9;
    return count;
  };
  const Pruner by_magnitude(model, {}, {});
  const Pruner by_activations(model, settings, pruning_images(16));
  EXPECT_LT(read_from_0(by_magnitude.pruned(by_magnitude.shares_of({0.8, false})).model), 20U);
  EXPECT_EQ(read_from_0(by_activations.pruned(by_activations.shares_of({0.8, false})).model), 36U);
}

TEST(PruneModel, QuantisedWeightsAreRefused) {
  Model model = small_model();
  auto& linear = std::get<Linear>(model.nodes[7].operation);
  linear.weights = Weights(with_palette(typed_matrix(linear.weights, Pattern::csr, DataType::f32)));
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "node 8 \"node7\" (linear): its weights are quantised already",
                      testing::message_of<DataError>([&] { Pruner(model, {}, {}); }));
}

TEST(PruneMeasure, TheModelItselfAgrees) {
  const Model model = small_model();
  const Measurer measurer(model, pruning_images(10), 5, std::vector<Index>(10, 3), {});
  const PruneMeasure same = measurer.measured(model);
  EXPECT_EQ(same.distance, 0);
  EXPECT_EQ(same.agreement, 1);
  EXPECT_EQ(same.accuracy_before, same.accuracy_after);
  EXPECT_EQ(same.first, 5U);
}

/// Of two outputs the first is measured.
TEST(PruneMeasure, IsThatOfTheFirstOutput) {
  Rng rng(13);
  ModelBuilder builder;
  const ValueId x = builder.input({kN, 40});
  const ValueId y = builder.add(random_linear(rng, 40, 6, 1), {x});
  const ValueId z = builder.add(random_linear(rng, 40, 6, 1), {x});
  const Model model = builder.finish({y, z});
  const Tensor images = random_tensor(rng, {20, 40});
  const Tensor logits = logits_of(model, images, EngineSettings());
  EXPECT_EQ(logits.shape, (Shape{20, 6}));
  Model first = model;
  first.outputs = {y};
  const Tensor alone = logits_of(first, images, EngineSettings());
  EXPECT_TRUE(std::equal(alone.values.begin(), alone.values.end(), logits.values.begin()));
  const Measurer measurer(model, images, 0, {}, {});
  Model changed = model;
  std::get<Linear>(changed.nodes[1].operation) = random_linear(rng, 40, 6, 1);
  EXPECT_EQ(measurer.measured(changed).distance, 0) << "the second alone changed";
  std::get<Linear>(changed.nodes[0].operation) = random_linear(rng, 40, 6, 1);
  EXPECT_GT(measurer.measured(changed).distance, 0.1);
}

/// Labels are the classes of the dense model, but for two of twenty images.
TEST(PruneMeasure, AccuracyIsThatOfEitherModelAndAgreementOfBoth) {
  Rng rng(14);
  ModelBuilder builder;
  const ValueId x = builder.input({kN, 4});
  const Model model = builder.finish({builder.add(random_linear(rng, 4, 3, 1), {x})});
  const Tensor images = random_tensor(rng, {20, 4});
  std::vector<Index> labels = predictions_of(logits_of(model, images, EngineSettings()));
  labels[3] = (labels[3] + 1) % 3;
  labels[8] = (labels[8] + 1) % 3;
  Model other = model;
  auto& linear = std::get<Linear>(other.nodes[0].operation);
  linear.bias = {1000, 0, 0};
  const auto of_class_0 = static_cast<double>(std::count(labels.begin(), labels.end(), Index{0}));
  const PruneMeasure measure = Measurer(model, images, 0, labels, {}).measured(other);
  EXPECT_EQ(measure.accuracy_before, 18.0 / 20);
  EXPECT_EQ(measure.accuracy_after, of_class_0 / 20);
  const std::vector<Index> classes = predictions_of(logits_of(model, images, EngineSettings()));
  EXPECT_EQ(measure.agreement, static_cast<double>(std::count(classes.begin(), classes.end(), Index{0})) / 20);
  EXPECT_EQ(measure.images, 20U);
}

/// Outputs of half the size are off by half.
TEST(PruneMeasure, TheDistanceIsRelative) {
  Rng rng(16);
  ModelBuilder builder;
  const ValueId x = builder.input({kN, 4});
  Linear linear = random_linear(rng, 4, 3, 1);
  linear.bias = {};
  const Model model = builder.finish({builder.add(linear, {x})});
  Model half = model;
  CsrMatrix weights = linear.weights;
  std::vector<float> values(weights.values.begin(), weights.values.end());
  for (float& value : values) value /= 2;
  weights.values = std::move(values);
  std::get<Linear>(half.nodes[0].operation).weights = weights;
  EXPECT_NEAR(Measurer(model, random_tensor(rng, {5, 4}), 0, {}, {}).measured(half).distance, 0.5, 1e-6);
}

TEST(PruneMeasure, OutputsThatAreNotFiniteAreRefused) {
  Model model = small_model();
  std::get<BatchNorm>(model.nodes[3].operation).scale.assign(4, 3e38F);
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "is not finite for one of the images",
                      testing::message_of<DataError>([&] { Measurer(model, pruning_images(10), 0, {}, {}); }));
}

TEST(PruneTimes, AreThoseOfTheGivenNodes) {
  const Model model = small_model();
  const std::vector<double> seconds = predicted_seconds(model, {});
  ASSERT_EQ(seconds.size(), model.nodes.size());
  EXPECT_GT(seconds[0], 0);
  EXPECT_GT(seconds[2], 0);
  EXPECT_EQ(seconds[3], 0) << "the norm is folded";
  EngineSettings many;
  many.batch = 64;
  EXPECT_GT(predicted_seconds(model, many)[2], 2 * seconds[2]) << "of the images of a batch";
}

TEST(PruneTimes, AreMeasuredForBothModels) {
  const Pruner pruner(small_model(), {}, {});
  EngineSettings settings;
  settings.batch = 3;
  const MeasuredSeconds measured =
      measured_seconds(pruner.dense(), pruner.pruned(pruner.shares_of({0.9, false})).model, settings);
  EXPECT_GE(measured.runs, 5);
  for (const std::vector<double>& seconds : {measured.before, measured.after}) {
    ASSERT_EQ(seconds.size(), pruner.dense().nodes.size());
    for (const std::size_t node : {0U, 2U, 7U}) EXPECT_TRUE(seconds[node] > 0 && std::isfinite(seconds[node])) << node;
    EXPECT_EQ(seconds[3], 0) << "the norm is folded";
  }
}

TEST(PruneTimes, AModelOfTwoInputsIsNotMeasured) {
  ModelBuilder builder;
  const ValueId x = builder.input({kN, 4});
  const ValueId y = builder.input({kN, 4});
  const Model model = builder.finish({builder.add(Elementwise{.kind = Elementwise::Kind::add}, {x, y})});
  EXPECT_EQ(measured_seconds(model, model, {}).runs, 0);
}

class SharesFile : public ::testing::Test {
 protected:
  std::string error_of(const std::string& text) {
    write_text(directory_ / "shares", text);
    const std::string message =
        testing::message_of<DataError>([&] { read_shares(directory_ / "shares", small_model()); });
    const std::size_t at = message.find("shares:");
    return at == std::string::npos ? message : message.substr(at);
  }
  TemporaryDirectory directory_;
};

TEST_F(SharesFile, NamesAndNumbers) {
  write_text(directory_ / "shares", "# comment\nnode2 0.5\r\n\n8\t0\n");
  const Shares shares = read_shares(directory_ / "shares", small_model());
  EXPECT_EQ(shares[2], 0.5);
  EXPECT_EQ(shares[7], 0);
  EXPECT_FALSE(shares[0]);
}

/// Two nodes of one name; of a name that is the number of another node, the name counts.
TEST_F(SharesFile, NodesOfOneNameAreToldApartByTheirNumbers) {
  Model model = small_model();
  model.nodes[0].name = "same";
  model.nodes[2].name = "same";
  model.nodes[7].name = "3";
  write_text(directory_ / "shares", "same 0.5\n");
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "shares:1: the nodes 1 and 3 are named 'same'; give a number",
                      testing::message_of<DataError>([&] { read_shares(directory_ / "shares", model); }));
  write_text(directory_ / "shares", "1 0.25\n3 0.5\n");
  const Shares shares = read_shares(directory_ / "shares", model);
  EXPECT_EQ(shares[0], 0.25);
  EXPECT_FALSE(shares[2]);
  EXPECT_EQ(shares[7], 0.5);
}

TEST_F(SharesFile, RefusesWhatDoesNotFit) {
  EXPECT_EQ(error_of("node2 0.5\nnode9 0.5\n"), "shares:2: there is no node 'node9'");
  EXPECT_EQ(error_of("9 0.5\n"), "shares:1: node 9 is outside 1..8");
  EXPECT_EQ(error_of("0 0.5\n"), "shares:1: node 0 is outside 1..8");
  EXPECT_EQ(error_of("node3 0.5\n"), "shares:1: node 4 \"node3\" (batch norm) has no weights");
  EXPECT_EQ(error_of("node2 1\n"), "shares:1: '1' is not a share of zeros in [0, 1)");
  EXPECT_EQ(error_of("node2 -0.1\n"), "shares:1: '-0.1' is not a share of zeros in [0, 1)");
  EXPECT_EQ(error_of("node2 nan\n"), "shares:1: 'nan' is not a share of zeros in [0, 1)");
  for (const char* const line : {"node2\n", "\t0.5\n"})
    EXPECT_EQ(error_of(line), "shares:1: expected a node, a blank and a share of zeros in [0, 1)");
  EXPECT_EQ(error_of("node2 \n"), "shares:1: expected a node, a blank and a share of zeros in [0, 1)");
  EXPECT_EQ(error_of("node2 or 3 0.5\n"), "shares:1: there is no node 'node2 or 3'");
  EXPECT_EQ(error_of("node2 0.5\n3 0.5\n"), "shares:2: node 3 \"node2\" (convolution) occurs twice");
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "no node, expected a line", error_of("# nothing\n"));
}

}  // namespace
}  // namespace spdnn
