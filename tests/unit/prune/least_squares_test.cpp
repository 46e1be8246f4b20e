// Samples of layers against the oracle, and the fit of the weights that are left.

#include "prune/least_squares.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include "model/oracle/evaluate.hpp"
#include "prune/select.hpp"
#include "support/models.hpp"

namespace spdnn {
namespace {

using testing::ModelBuilder;
using testing::random_convolution;
using testing::random_linear;
using testing::random_tensor;
using testing::Rng;

Tensor as_floats(const Bounded& values) {
  return {values.shape, std::vector<float>(values.values.begin(), values.values.end())};
}

/// A node with an input and the output that it has for it.
struct Layer1 {
  Operation operation;
  Tensor read;
  Tensor made;
};

Layer1 layer_of(Operation operation, Tensor read) {
  ModelBuilder builder;
  Shape shape = read.shape;
  shape[0] = kBatchExtent;
  const ValueId x = builder.input(shape);
  const Model model = builder.finish({builder.add(operation, {x})});
  Tensor made = as_floats(evaluate(model, {read}).front());
  return {std::move(operation), std::move(read), std::move(made)};
}

const std::vector<float>& bias_in(const Operation& operation) {
  const auto* const linear = std::get_if<Linear>(&operation);
  return linear != nullptr ? linear->bias : std::get<Convolution>(operation).bias;
}

std::vector<NormalEquations> equations_of(const Layer1& layer, std::size_t per_image) {
  const LayerExtents extents = layer_extents(layer.operation);
  std::vector<NormalEquations> groups(
      extents.groups, NormalEquations(extents.cols, extents.rows / extents.groups, !bias_in(layer.operation).empty()));
  for (Index g = 0; g < extents.groups; ++g)
    groups[g].add(samples_of(layer.operation, layer.read, layer.made, g, per_image, 0));
  return groups;
}

std::vector<Layer1> layers() {
  Rng rng(7);
  Window odd;
  odd.kernel = {3, 2};
  odd.stride = {2, 1};
  odd.dilation = {1, 2};
  odd.pad_begin = {1, 0};
  odd.pad_end = {0, 2};
  Window line;
  line.kernel = {1, 3};
  std::vector<Layer1> all;
  all.push_back(
      layer_of(random_convolution(rng, 3, 5, testing::same_window(3, 3), 1), random_tensor(rng, {4, 3, 6, 7})));
  all.push_back(layer_of(random_convolution(rng, 4, 6, odd, 1, 2), random_tensor(rng, {3, 4, 7, 8})));
  all.push_back(layer_of(random_convolution(rng, 2, 3, line, 1, 1, false), random_tensor(rng, {5, 2, 9})));
  all.push_back(layer_of(random_linear(rng, 70, 4, 1), random_tensor(rng, {90, 70})));
  all.push_back(layer_of(random_linear(rng, 6, 4, 1), random_tensor(rng, {3, 5, 6})));
  return all;
}

TEST(PruneSamples, TheTrueWeightsHaveNoError) {
  for (const Layer1& layer : layers()) {
    const LayerExtents extents = layer_extents(layer.operation);
    EXPECT_EQ(places_of_image(layer.operation, layer.made.shape) * extents.rows * layer.made.shape[0],
              layer.made.values.size());
    const Repaired same = repaired(*matrix_or_null(layer.operation), bias_in(layer.operation), equations_of(layer, 99));
    EXPECT_LT(same.error_before, 1e-3);
    EXPECT_LE(same.error_after, same.error_before);
  }
}

TEST(PruneSamples, TakesAsManyAsWantedAndTheSameAgain) {
  const Layer1 layer = layers().front();
  const Samples some = samples_of(layer.operation, layer.read, layer.made, 0, 5, 0);
  EXPECT_EQ(some.count, 20U);
  EXPECT_EQ(some.inputs.size(), 20U * 27);
  EXPECT_EQ(some.targets.size(), 20U * 5);
  EXPECT_EQ(samples_of(layer.operation, layer.read, layer.made, 0, 5, 0).inputs, some.inputs);
  EXPECT_NE(samples_of(layer.operation, layer.read, layer.made, 0, 5, 4).inputs, some.inputs);
  EXPECT_EQ(samples_of(layer.operation, layer.read, layer.made, 0, 1000, 0).count, 4U * 6 * 7);
}

TEST(PruneSamples, SquaresOfColumns) {
  ColumnSquares squares(2);
  squares.add({.count = 2, .inputs = {3, 0, 5, 1}, .targets = {}});
  squares.add({.count = 1, .inputs = {1, 1}, .targets = {}});
  EXPECT_FLOAT_EQ(squares.roots()[0], std::sqrt(35.F / 3));
  EXPECT_FLOAT_EQ(squares.roots()[1], std::sqrt(2.F / 3));
  EXPECT_EQ(ColumnSquares(2).roots(), (std::vector<float>{0, 0})) << "no samples";
}

TEST(LeastSquares, RepairKeepsThePatternAndLowersTheError) {
  for (const Layer1& layer : layers()) {
    const CsrMatrix& all = *matrix_or_null(layer.operation);
    const CsrMatrix half = kept(all, scores_of(all, {}, 1), {}, all.entries() / 2, 1);
    const Repaired fitted = repaired(half, bias_in(layer.operation), equations_of(layer, 99));
    EXPECT_LT(fitted.error_after, 0.97 * fitted.error_before);
    EXPECT_GT(fitted.error_after, 0);
    EXPECT_TRUE(std::equal(half.indices.begin(), half.indices.end(), fitted.weights.indices.begin()));
    EXPECT_EQ(fitted.bias.size(), bias_in(layer.operation).size());
    for (const float value : fitted.weights.values) EXPECT_NE(value, 0);
  }
}

/// Targets that only half of the weights make: the fit finds them from others, but for the damping.
TEST(LeastSquares, FindsWeightsThatExplainTheTargets) {
  Rng rng(9);
  const Layer1 layer = layer_of(random_linear(rng, 80, 5, 0.5), random_tensor(rng, {900, 80}));
  const Linear& right = std::get<Linear>(layer.operation);
  CsrMatrix wrong = right.weights;
  wrong.values = std::vector<float>(wrong.entries(), 0.5F);
  const Repaired fitted = repaired(wrong, std::vector<float>(5), equations_of(layer, 1));
  EXPECT_GT(fitted.error_before, 0.5);
  EXPECT_LT(fitted.error_after, 0.05);
  for (Offset k = 0; k < wrong.entries(); ++k) EXPECT_NEAR(fitted.weights.values[k], right.weights->values[k], 0.05);
  for (Index row = 0; row < 5; ++row) EXPECT_NEAR(fitted.bias[row], right.bias[row], 0.05);
}

TEST(LeastSquares, WeightsThatNothingDeterminesStay) {
  NormalEquations equations(3, 1, false);
  equations.add({.count = 2, .inputs = {1, 0, 0, 2, 0, 0}, .targets = {3, 6}});
  const auto fitted = equations.fitted(0, {{0, 2}, {1, 7}});
  EXPECT_NEAR(fitted.values[0], 3, 0.01);
  EXPECT_EQ(fitted.values[1], 7);
  EXPECT_EQ(NormalEquations(3, 1, false).fitted(0, {{0}, {4}}).values[0], 4) << "no samples";
}

/// Two filters of two weights and a bias, samples in whole numbers: sums are exact.
TEST(LeastSquares, SamplesThatAreAddedInTurnCountAsThoseAddedAtOnce) {
  const std::vector<float> inputs{1, 2, 0, 3, -1, 4, 2, 2, 5, -3};
  const std::vector<float> targets{3, 1, 4, -2, 0, 6, 7, 5, 1, 2};
  NormalEquations at_once(2, 2, true);
  at_once.add({.count = 5, .inputs = inputs, .targets = targets});
  NormalEquations in_turn(2, 2, true);
  for (const auto& [first, end] : {std::pair(0, 1), std::pair(1, 4), std::pair(4, 5)})
    in_turn.add({.count = static_cast<std::size_t>(end - first),
                 .inputs = {inputs.begin() + 2 * first, inputs.begin() + 2 * end},
                 .targets = {targets.begin() + 2 * first, targets.begin() + 2 * end}});
  const NormalEquations::Filter given{{0, 1, 2}, {2, -1, 3}};
  const std::array<double, 2> by_hand{254, 285};
  for (const Index filter : {0U, 1U}) {
    EXPECT_EQ(in_turn.squares(filter), at_once.squares(filter));
    EXPECT_EQ(in_turn.error(filter, given), by_hand[filter]);
    EXPECT_EQ(at_once.error(filter, given), by_hand[filter]);
    EXPECT_EQ(in_turn.fitted(filter, given).values, at_once.fitted(filter, given).values);
  }
}

/// Equations of one column and filter from one sample.
NormalEquations equation_of(float input, float target) {
  NormalEquations equations(1, 1, false);
  equations.add({.count = 1, .inputs = {input}, .targets = {target}});
  return equations;
}

TEST(LeastSquares, ErrorsAreRelativeToTheTargetsOfAllGroups) {
  const std::vector<NormalEquations> groups{equation_of(1, 1), equation_of(1, 3)};
  const Repaired fitted = repaired(testing::make_matrix(1, {{{0, 0.5F}}, {{0, 1.F}}}), {}, groups);
  EXPECT_NEAR(fitted.error_before, std::sqrt((0.25 + 4) / (1 + 9)), 1e-6);
  EXPECT_LT(fitted.error_after, 0.01);
  const std::vector<NormalEquations> none{equation_of(0, 0)};
  EXPECT_EQ(repaired(testing::make_matrix(1, {{{0, 0.5F}}}), {}, none).error_before, 0) << "there is nothing to miss";
}

/// Fp32 holds numbers below 1e-38 with fewer digits, and kernels may take them for zero.
TEST(LeastSquares, AWeightThatWouldBecomeSubnormalStays) {
  const std::vector<NormalEquations> groups{equation_of(1, 0)};
  const Repaired fitted = repaired(testing::make_matrix(1, {{{0, 1.5e-38F}}}), {}, groups);
  EXPECT_EQ(fitted.weights.values[0], 1.5e-38F);
}

/// Of two weights that would change together one would become subnormal. The other's change alone makes the error
/// larger.
TEST(LeastSquares, WeightsStayWhereWhatIsLeftOfTheirChangesIsNoGain) {
  NormalEquations equations(2, 1, false);
  equations.add({.count = 2, .inputs = {1, 1, 1, 0}, .targets = {3.5e-38F, 3e-38F}});
  const std::vector<NormalEquations> groups{equations};
  const Repaired fitted = repaired(testing::make_matrix(2, {{{0, 2.3e-38F}, {1, 2e-38F}}}), {}, groups);
  EXPECT_EQ(fitted.weights.values[0], 2.3e-38F);
  EXPECT_EQ(fitted.weights.values[1], 2e-38F);
  EXPECT_EQ(fitted.error_after, fitted.error_before);
}

TEST(LeastSquares, AChangeCostsAHundredthOfTheMeanSquareOfAnInput) {
  NormalEquations equations(1, 1, false);
  equations.add({.count = 1, .inputs = {1}, .targets = {3}});
  EXPECT_NEAR(equations.fitted(0, {{0}, {0}}).values[0], 3 / 1.01, 1e-6);
}

}  // namespace
}  // namespace spdnn
