// Rewrites of models: what they change, where they stand aside, and that the given model's bounds hold for the result.

#include <gtest/gtest.h>

#include <cmath>

#include "engines/reference/model.hpp"
#include "model/fold_batch_norm.hpp"
#include "model/fold_constants.hpp"
#include "model/remove_unread.hpp"
#include "support/models.hpp"

namespace spdnn {
namespace {

using testing::Dice;
using testing::make_tensor;
using testing::ModelBuilder;
using testing::ModelCase;

constexpr Extent kN = kBatchExtent;

/// The rewritten model, which is valid, and whose outputs are within the bounds of the given one's.
template <class Rewrite>
Model rewritten(const ModelCase& c, const Rewrite& rewrite, Index expected_changes) {
  Model model = c.model;
  EXPECT_EQ(rewrite(model), expected_changes);
  model.validate();
  const std::vector<Bounded> given = evaluate(c.model, c.inputs);
  const std::vector<Bounded> found = evaluate(model, c.inputs);
  EXPECT_EQ(found.size(), given.size());
  for (std::size_t output = 0; output < given.size(); ++output) {
    EXPECT_EQ(shape_text(found[output].shape), shape_text(given[output].shape));
    for (std::size_t i = 0; i < given[output].values.size(); ++i)
      EXPECT_LE(std::abs(found[output].values[i] - given[output].values[i]), given[output].bounds[i])
          << "output " << output << ", value " << i;
  }
  EXPECT_EQ(rewrite(model), 0U) << "a second time";
  return model;
}

std::vector<std::string> operations(const Model& model) {
  std::vector<std::string> names;
  for (const Node& node : model.nodes) names.emplace_back(operation_name(node.operation));
  return names;
}

using Names = std::vector<std::string>;

TEST(RemoveUnread, NodesThatNoOutputDependsOnGo) {
  Dice dice(1);
  ModelBuilder builder;
  const ValueId x = builder.input({kN, 3});
  const ValueId unread_input = builder.input({kN, 2});
  const ValueId lost = builder.add(Activation{}, {x});
  builder.add(testing::random_linear(dice, 3, 4, 1), {lost});
  const ValueId y = builder.add(testing::random_linear(dice, 3, 2, 1), {x});
  builder.add(Activation{}, {unread_input});
  const ModelCase c{"", builder.finish({y}), {make_tensor({1, 3}, {1, 2, 3}), make_tensor({1, 2}, {1, 2})}};
  const Model model = rewritten(c, remove_unread, 3);
  EXPECT_EQ(operations(model), Names{"linear"});
  EXPECT_EQ(model.values.size(), 3U);
  EXPECT_EQ(model.inputs.size(), 2U);
}

TEST(FoldConstants, ChainsOfConstantsBecomeOne) {
  ModelBuilder builder;
  const ValueId x = builder.input({kN, 2, 2});
  const ValueId a = builder.constant(make_tensor({2, 2}, {1, 2, 3, 4}));
  const ValueId b = builder.constant(make_tensor({1}, {0.5F}));
  const ValueId turned = builder.add(Transpose{{1, 0}}, {a});
  const ValueId shifted = builder.add(Elementwise{}, {turned, b});
  const ValueId y = builder.add(Elementwise{}, {x, shifted});
  const ModelCase c{"", builder.finish({y}), {make_tensor({1, 2, 2}, {1, 1, 1, 1})}};
  const Model model = rewritten(c, fold_constants, 2);
  EXPECT_EQ(operations(model), Names{"add"});
  ASSERT_EQ(model.values.size(), 3U);
  const Bounded found = evaluate(model, c.inputs)[0];
  EXPECT_EQ(found.values, (std::vector<double>{2.5, 4.5, 3.5, 5.5}));
}

TEST(FoldConstants, WhatIsNotFiniteStays) {
  ModelBuilder builder;
  const ValueId zero = builder.constant(make_tensor({1}, {0}));
  const ValueId one = builder.constant(make_tensor({1}, {1}));
  const ValueId y = builder.add(Elementwise{Elementwise::Kind::divide}, {one, zero});
  Model model = builder.finish({y});
  EXPECT_EQ(fold_constants(model), 0U);
  EXPECT_EQ(operations(model), Names{"divide"});
}

TEST(FoldConstants, WhatIsLargerThanItsMakingStays) {
  ModelBuilder builder;
  const ValueId row = builder.constant(make_tensor({1, 1, 1, 8192}, std::vector<float>(8192, 1)));
  const ValueId y = builder.add(Pad{{0, 0, 0, 0}, {0, 0, 4096, 0}, 0}, {row});
  Model model = builder.finish({y});
  EXPECT_EQ(fold_constants(model), 0U);
}

TEST(FoldBatchNorm, BatchNormsAfterConvolutionsGo) {
  for (std::uint32_t seed = 1; seed < 6; ++seed) {
    const ModelCase c = testing::small_network(seed, 0.4);
    const Model model = rewritten(c, fold_batch_norm, 3);
    EXPECT_EQ(model.nodes.size(), c.model.nodes.size() - 3);
    EXPECT_EQ(model.values.size(), c.model.values.size() - 3);
  }
}

TEST(FoldBatchNorm, ByHand) {
  ModelBuilder builder;
  const ValueId x = builder.input({kN, 2});
  const ValueId sum = builder.add(Linear{testing::make_matrix(2, {{{0, 3.F}, {1, 1.F}}, {{1, 2.F}}}), {5, 1}}, {x});
  const ValueId once = builder.add(BatchNorm{{4, 0}, {1, 7}, {1, 1}, {3, 1}, 1.F}, {sum});
  const ValueId twice = builder.add(BatchNorm{{1, 1}, {0, 0}, {0, 1}, {0, 3}, 1.F}, {once});
  const ModelCase c{"", builder.finish({twice}), {make_tensor({1, 2}, {1, 2})}};
  const Model model = rewritten(c, fold_batch_norm, 2);
  ASSERT_EQ(operations(model), Names{"linear"});
  const auto& linear = std::get<Linear>(model.nodes[0].operation);
  EXPECT_EQ(linear.weights.degree(1), 0U);  // times a scale of zero
  EXPECT_EQ(linear.weights.entry_value(0), 6.F);
  EXPECT_EQ(linear.weights.entry_value(1), 2.F);
  EXPECT_EQ(linear.bias, (std::vector<float>{9, 3}));
}

TEST(FoldBatchNorm, StandsAside) {
  Dice dice(3);
  const auto unchanged = [](ModelBuilder& builder, std::vector<ValueId> outputs) {
    Model model = builder.finish(std::move(outputs));
    const Names before = operations(model);
    EXPECT_EQ(fold_batch_norm(model), 0U);
    EXPECT_EQ(operations(model), before);
  };
  {  // the sums are read by something else, too
    ModelBuilder builder;
    const ValueId x = builder.input({kN, 3});
    const ValueId sum = builder.add(testing::random_linear(dice, 3, 4, 1), {x});
    const ValueId normed = builder.add(testing::random_norm(dice, 4), {sum});
    unchanged(builder, {builder.add(Elementwise{}, {sum, normed})});
  }
  {  // the sums are an output
    ModelBuilder builder;
    const ValueId x = builder.input({kN, 3});
    const ValueId sum = builder.add(testing::random_linear(dice, 3, 4, 1), {x});
    unchanged(builder, {builder.add(testing::random_norm(dice, 4), {sum}), sum});
  }
  {  // the outputs of the linear node are no channels
    ModelBuilder builder;
    const ValueId x = builder.input({kN, 4, 3});
    const ValueId sum = builder.add(testing::random_linear(dice, 3, 4, 1), {x});
    unchanged(builder, {builder.add(testing::random_norm(dice, 4), {sum})});
  }
  for (const float scale : {1e38F, 1e-38F}) {  // a weight would overflow, or lose digits
    ModelBuilder builder;
    const ValueId x = builder.input({kN, 1});
    const ValueId sum = builder.add(Linear{testing::make_matrix(1, {{{0, scale}}}), {}}, {x});
    unchanged(builder, {builder.add(BatchNorm{{scale < 1 ? 0.1F : 10.F}, {0}, {0}, {1}, 0}, {sum})});
  }
}

/// A sum that begins with a large bias loses each of its small terms. The bound of the given model, where the large
/// mean is subtracted from the finished sum, must allow for that.
TEST(FoldBatchNorm, Fp32SumsOfTheFoldedModelAreWithinTheGivenBound) {
  constexpr Index kTerms = 400;
  testing::Rows rows(1);
  for (Index column = 0; column < kTerms; ++column) rows[0].emplace_back(column, 1.F);
  ModelBuilder builder;
  const ValueId x = builder.input({kN, kTerms});
  const ValueId sum = builder.add(Linear{testing::make_matrix(kTerms, rows), {}}, {x});
  const ValueId y = builder.add(BatchNorm{{1}, {0}, {3000}, {1}, 0}, {sum});
  const Model given = builder.finish({y});
  Model folded = given;
  ASSERT_EQ(fold_batch_norm(folded), 1U);
  const auto& linear = std::get<Linear>(folded.nodes[0].operation);
  const Tensor image = make_tensor({1, kTerms}, std::vector<float>(kTerms, 1e-4F));
  float total = linear.bias[0];
  for (Index k = 0; k < kTerms; ++k) total += linear.weights.entry_value(k) * image.values[k];
  EXPECT_EQ(total, -3000.F);
  EXPECT_LE(largest_ratio(evaluate(given, {image})[0], std::vector<float>{total}), 1);
}

}  // namespace
}  // namespace spdnn
