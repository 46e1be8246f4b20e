// Rewrites of nodes after a sum: affine maps become part of the sum, and hard swishes of several nodes one activation.

#include <gtest/gtest.h>

#include "model/rewrites/fold_affine.hpp"
#include "model/rewrites/fuse_hard_swish.hpp"
#include "support/quantised.hpp"
#include "support/rewritten.hpp"

namespace spdnn {
namespace {

using testing::kN;
using testing::make_tensor;
using testing::ModelBuilder;
using testing::ModelCase;
using testing::Names;
using testing::operations;
using testing::rewritten;
using testing::Rng;
using Both = Elementwise::Kind;

TEST(FoldAffine, BatchNormsAfterConvolutionsGo) {
  for (std::uint32_t seed = 1; seed < 6; ++seed) {
    const ModelCase c = testing::small_network(seed, 0.4);
    const Model model = rewritten(c, fold_affine, 3);
    EXPECT_EQ(model.nodes.size(), c.model.nodes.size() - 3);
    EXPECT_EQ(model.values.size(), c.model.values.size() - 3);
  }
}

TEST(FoldAffine, TheScaleOfAQuantisedValueStays) {
  Rng rng(4);
  ModelBuilder builder;
  ValueId y = builder.add(testing::random_linear(rng, 4, 3, 1), {builder.input({kN, 4})});
  y = builder.add(testing::random_norm(rng, 3), {y});
  y = testing::quantised(builder, y, {true, 0, 0.25F});
  const ModelCase c{"", builder.finish({y}), {testing::random_tensor(rng, {2, 4})}};
  EXPECT_EQ(operations(rewritten(c, fold_affine, 1)), (Names{"linear", "divide", "round", "clip", "multiply"}));
}

TEST(FoldAffine, ByHand) {
  ModelBuilder builder;
  const ValueId x = builder.input({kN, 2});
  const ValueId sum = builder.add(Linear{testing::make_matrix(2, {{{0, 3.F}, {1, 1.F}}, {{1, 2.F}}}), {5, 1}}, {x});
  const ValueId once = builder.add(BatchNorm{{4, 0}, {1, 7}, {1, 1}, {3, 1}, 1.F}, {sum});
  const ValueId twice = builder.add(BatchNorm{{1, 1}, {0, 0}, {0, 1}, {0, 3}, 1.F}, {once});
  const ModelCase c{"", builder.finish({twice}), {make_tensor({1, 2}, {1, 2})}};
  const Model model = rewritten(c, fold_affine, 2);
  ASSERT_EQ(operations(model), Names{"linear"});
  const auto& linear = std::get<Linear>(model.nodes[0].operation);
  EXPECT_EQ(linear.weights->degree(1), 0U);  // times a scale of zero
  EXPECT_EQ(linear.weights->entry_value(0), 6.F);
  EXPECT_EQ(linear.weights->entry_value(1), 2.F);
  EXPECT_EQ(linear.bias, (std::vector<float>{9, 3}));
}

TEST(FoldAffine, UnreadNodesStayWhereNothingIsFolded) {
  Rng rng(3);
  ModelBuilder builder;
  const ValueId x = builder.input({kN, 2});
  builder.add(Activation{}, {x});
  Model model = builder.finish({builder.add(testing::random_linear(rng, 2, 3, 1), {x})});
  EXPECT_EQ(fold_affine(model), 0U);
  EXPECT_EQ(model.nodes.size(), 2U);
}

TEST(FoldAffine, StandsAside) {
  Rng rng(3);
  const auto unchanged = [](ModelBuilder& builder, std::vector<ValueId> outputs) {
    Model model = builder.finish(std::move(outputs));
    const Names before = operations(model);
    EXPECT_EQ(fold_affine(model), 0U);
    EXPECT_EQ(operations(model), before);
  };
  {  // another node reads the sums, too
    ModelBuilder builder;
    const ValueId x = builder.input({kN, 3});
    const ValueId sum = builder.add(testing::random_linear(rng, 3, 4, 1), {x});
    const ValueId normed = builder.add(testing::random_norm(rng, 4), {sum});
    unchanged(builder, {builder.add(Elementwise{}, {sum, normed})});
  }
  {  // the sums are an output
    ModelBuilder builder;
    const ValueId x = builder.input({kN, 3});
    const ValueId sum = builder.add(testing::random_linear(rng, 3, 4, 1), {x});
    unchanged(builder, {builder.add(testing::random_norm(rng, 4), {sum}), sum});
  }
  {  // the outputs of the linear node are no channels
    ModelBuilder builder;
    const ValueId x = builder.input({kN, 4, 3});
    const ValueId sum = builder.add(testing::random_linear(rng, 3, 4, 1), {x});
    unchanged(builder, {builder.add(testing::random_norm(rng, 4), {sum})});
  }
  for (const float scale : {1e38F, 1e-38F}) {  // a weight would overflow, or lose digits
    ModelBuilder builder;
    const ValueId x = builder.input({kN, 1});
    const ValueId sum = builder.add(Linear{testing::make_matrix(1, {{{0, scale}}}), {}}, {x});
    unchanged(builder, {builder.add(BatchNorm{{scale < 1 ? 0.1F : 10.F}, {0}, {0}, {1}, 0}, {sum})});
  }
}

/// A model that begins with a sum of many terms of weight 1.
struct LongSum {
  static constexpr Index kTerms = 400;
  ModelBuilder builder;
  ValueId sum = 0;

  LongSum() {
    testing::Rows rows(1);
    for (Index column = 0; column < kTerms; ++column) rows[0].emplace_back(column, 1.F);
    sum = builder.add(Linear{testing::make_matrix(kTerms, rows), {}}, {builder.input({kN, kTerms})});
  }

  /// Folds what follows the sum up to `output`, and adds an image of equal terms up in fp32, beginning with the bias:
  /// the total is within the bound of the given model.
  void expect_folded_total(ValueId output, Index changes, float term, float total) {
    const Model given = builder.finish({output});
    Model folded = given;
    ASSERT_EQ(fold_affine(folded), changes);
    const auto& linear = std::get<Linear>(folded.nodes[0].operation);
    float found = linear.bias[0];
    for (Index k = 0; k < kTerms; ++k) found += linear.weights->entry_value(k) * term;
    EXPECT_EQ(found, total);
    const Tensor image = make_tensor({1, kTerms}, std::vector<float>(kTerms, term));
    EXPECT_LE(largest_ratio(evaluate(given, {image})[0], std::vector<float>{found}), 1);
  }
};

/// A sum that begins with a large bias loses each of its small terms. The bound of the given model, where the large
/// mean is subtracted from the finished sum, must allow for that.
TEST(FoldAffine, Fp32SumsOfTheFoldedModelAreWithinTheGivenBound) {
  LongSum of;
  const ValueId y = of.builder.add(BatchNorm{{1}, {0}, {3000}, {1}, 0}, {of.sum});
  of.expect_folded_total(y, 1, 1e-4F, -3000.F);
}

TEST(FoldAffine, ConstantsOfOneNumberOrOnePerChannelGo) {
  Rng rng(5);
  for (const Index groups : {1U, 4U}) {
    for (const Both kind : {Both::add, Both::subtract, Both::multiply, Both::divide}) {
      for (const Shape& shape : {Shape{}, Shape{1}, Shape{4, 1, 1}, Shape{1, 4, 1, 1}, Shape{1, 1, 1}}) {
        for (const bool first : {false, true}) {
          ModelBuilder builder;
          const ValueId x = builder.input({kN, 4, 5, 6});
          const ValueId sum =
              builder.add(testing::random_convolution(rng, 4, 4, testing::same_window(3, 3), 0.5, groups), {x});
          const auto count = static_cast<std::size_t>(*elements(shape));
          const ValueId constant = builder.constant(make_tensor(shape, testing::random_values(rng, count, 0.25, 2)));
          const ValueId y =
              builder.add(Elementwise{kind}, first ? std::vector{constant, sum} : std::vector{sum, constant});
          const ValueId z = builder.add(testing::random_norm(rng, 4), {y});
          const ModelCase c{"", builder.finish({z}), {testing::random_tensor(rng, {2, 4, 5, 6})}};
          const bool folds = kind != Both::divide || !first;
          rewritten(c, fold_affine, folds ? 2 : 0);
        }
      }
    }
  }
}

TEST(FoldAffine, ConstantsByHand) {
  ModelBuilder builder;
  const ValueId x = builder.input({kN, 1});
  const auto number = [&](float value) { return builder.constant(make_tensor({}, {value})); };
  ValueId y = builder.add(Linear{testing::make_matrix(1, {{{0, 3.F}}}), {5}}, {x});
  y = builder.add(Elementwise{Both::multiply}, {number(4), y});  // 12 x + 20
  y = builder.add(Elementwise{Both::subtract}, {number(1), y});  // -12 x - 19
  y = builder.add(Elementwise{Both::divide}, {y, number(2)});    // -6 x - 9.5
  y = builder.add(Elementwise{Both::subtract}, {y, number(3)});
  const ModelCase c{"", builder.finish({y}), {make_tensor({1, 1}, {7})}};
  const Model model = rewritten(c, fold_affine, 4);
  const auto& linear = std::get<Linear>(model.nodes.at(0).operation);
  EXPECT_EQ(linear.weights->entry_value(0), -6.F);
  EXPECT_EQ(linear.bias, (std::vector<float>{-12.5F}));
}

TEST(FoldAffine, OneNumberIsForAllChannels) {
  Rng rng(7);
  for (const Shape& shape : {Shape{}, Shape{1}, Shape{1, 1, 1}}) {
    ModelBuilder builder;
    ValueId y = builder.add(testing::random_convolution(rng, 3, 5, {}, 0.7), {builder.input({kN, 3, 4, 5})});
    y = builder.add(Elementwise{Both::multiply}, {y, builder.constant(make_tensor(shape, {0.5F}))});
    y = builder.add(Elementwise{}, {y, builder.constant(make_tensor(shape, {2}))});
    const ModelCase c{"", builder.finish({y}), {testing::random_tensor(rng, {2, 3, 4, 5})}};
    const Model model = rewritten(c, fold_affine, 2);
    ASSERT_EQ(operations(model), Names{"convolution"});
    const auto bias = std::get<Convolution>(model.nodes[0].operation).bias;
    ASSERT_EQ(bias.size(), 5U);
    const auto& given = std::get<Convolution>(c.model.nodes[0].operation).bias;
    for (std::size_t k = 0; k < 5; ++k) EXPECT_EQ(bias[k], given[k] * 0.5F + 2);
  }
}

TEST(FoldAffine, ADivisionByZeroStaysAndWhatFollowsIt) {
  for (const std::vector<float>& divisors : {std::vector<float>{2, 0}, std::vector<float>{0, 0}}) {
    ModelBuilder builder;
    const ValueId x = builder.input({kN, 2});
    const ValueId half = builder.constant(make_tensor({1}, {0.5F}));
    const ValueId by = builder.constant(make_tensor({2}, divisors));
    ValueId y = builder.add(Linear{testing::make_matrix(2, {{{0, 3.F}}, {}}), {1, 0}}, {x});
    y = builder.add(Elementwise{Both::multiply}, {y, half});
    y = builder.add(Elementwise{Both::divide}, {y, by});
    y = builder.add(Elementwise{Both::multiply}, {y, builder.constant(make_tensor({1}, {0}))});
    Model model = builder.finish({y});
    EXPECT_EQ(fold_affine(model), 1U);
    EXPECT_EQ(operations(model), (Names{"linear", "divide", "multiply"}));
  }
}

TEST(FoldAffine, AConstantThatIsFoldedGoes) {
  ModelBuilder builder;
  const ValueId x = builder.input({kN, 1});
  const ValueId product = builder.add(Linear{testing::make_matrix(1, {{{0, 3.F}}}), {5}}, {x});
  const ValueId y = builder.add(Elementwise{Both::add}, {product, builder.constant(make_tensor({}, {4}))});
  const ModelCase c{"", builder.finish({y}), {make_tensor({1, 1}, {7})}};
  EXPECT_EQ(rewritten(c, fold_affine, 1).values.size(), 2U);  // the input and the output
}

TEST(FoldAffine, ConstantsThatVaryWithinAChannelStay) {
  Rng rng(7);
  for (const Shape& shape : {Shape{6}, Shape{5, 1}, Shape{4, 5, 1}, Shape{4}, Shape{2, 1, 1, 1}}) {
    ModelBuilder builder;
    const ValueId x = builder.input({2, 4, 5, shape == Shape{4} ? 4 : 6});
    const ValueId sum = builder.add(testing::random_convolution(rng, 4, 4, {}, 0.5), {x});
    Model model =
        builder.finish({builder.add(Elementwise{}, {sum, builder.constant(testing::random_tensor(rng, shape))})});
    EXPECT_EQ(fold_affine(model), 0U) << shape_text(shape);
  }
  ModelBuilder builder;  // the sums are broadcast
  const ValueId x = builder.input({kN, 1});
  const ValueId sum = builder.add(Linear{testing::make_matrix(1, {{{0, 3.F}}}), {}}, {x});
  Model model =
      builder.finish({builder.add(Elementwise{}, {sum, builder.constant(testing::random_tensor(rng, {1, 3}))})});
  EXPECT_EQ(fold_affine(model), 0U);
}

/// The phases of a transposed convolution, as the ONNX reader makes them.
TEST(FoldAffine, MapsAfterMovesOfChannelsGo) {
  Rng rng(9);
  const auto phases = [&](const std::vector<Index>& order, const Shape& joined) {
    ModelBuilder builder;
    const ValueId x = builder.input({kN, 3, 4, 5});
    ValueId y = builder.add(testing::random_convolution(rng, 3, 12, {}, 0.7), {x});
    y = builder.add(Reshape{{kN, 3, 2, 2, 4, 5}}, {y});
    y = builder.add(Reshape{joined}, {builder.add(Transpose{order}, {y})});
    y = builder.add(Elementwise{}, {y, builder.constant(testing::random_tensor(rng, {joined[1], 1, 1}))});
    y = builder.add(testing::random_norm(rng, static_cast<Index>(joined[1])), {y});
    return ModelCase{"", builder.finish({builder.add(Activation{}, {y})}), {testing::random_tensor(rng, {2, 3, 4, 5})}};
  };
  const Model model = rewritten(phases({0, 1, 4, 2, 5, 3}, {kN, 3, 8, 10}), fold_affine, 2);
  EXPECT_EQ(operations(model), (Names{"convolution", "reshape", "transpose", "reshape", "relu"}));
  rewritten(phases({0, 2, 1, 4, 3, 5}, {kN, 2, 12, 10}), fold_affine, 0);
  rewritten(phases({0, 1, 4, 2, 5, 3}, {kN, 6, 8, 5}), fold_affine, 0);  // more channels than before
}

/// A large addend after a product becomes the bias of the sum, whose small terms it swallows.
TEST(FoldAffine, Fp32SumsWithAFoldedAddendAreWithinTheGivenBound) {
  LongSum of;
  ModelBuilder& builder = of.builder;
  ValueId y = builder.add(Reshape{{kN, 1, 1, 1}}, {of.sum});
  y = builder.add(Transpose{{0, 1, 3, 2}}, {y});
  y = builder.add(Elementwise{Both::multiply}, {y, builder.constant(make_tensor({}, {0.5F}))});
  y = builder.add(Elementwise{}, {y, builder.constant(make_tensor({}, {3000}))});
  of.expect_folded_total(y, 2, 2e-4F, 3000.F);
}

// ---- Hard swish ----

/// The nodes of a hard swish as files have them, with numbers that a test may change.
struct Swish {
  float added = 3, low = 0, high = 6, divisor = 6, alpha = 1.F / 6, beta = 0.5F;
  enum class Order { quotient_last, quotient_first, hard_sigmoid } order = Order::quotient_last;
  Shape of_numbers{1};    ///< more axes than the value's widen it
  float step = 0;         ///< from each number to the next, where there are several
  bool no_sum = false;    ///< what is clipped is x
  bool swapped = false;   ///< the inputs of sum and product
  int read_again = -1;    ///< the node between them that is an output, too
  bool of_other = false;  ///< the product is with another value
  Both sum = Both::add, product = Both::multiply, quotient = Both::divide;
  Activation::Kind gate = Activation::Kind::hard_sigmoid;

  ModelCase model() const {
    ModelBuilder builder;
    const ValueId x = builder.input({of_numbers.size() > 3 ? 1 : kN, 3, 8});
    const ValueId other = builder.add(Activation{}, {x});
    const auto number = [&](float value) {
      std::vector<float> values(*elements(of_numbers));
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = value + step * static_cast<float>(i);
      return builder.constant(make_tensor(of_numbers, values));
    };
    const auto pair = [&](ValueId a, ValueId b) { return swapped ? std::vector{b, a} : std::vector{a, b}; };
    std::vector<ValueId> between;
    if (order == Order::hard_sigmoid) {
      between = {builder.add(testing::make_activation(gate, alpha, beta), {x})};
    } else {
      between = {no_sum ? builder.add(Activation{}, {x}) : builder.add(Elementwise{sum}, pair(x, number(added)))};
      between.push_back(builder.add(testing::make_clip(low, high), {between.back()}));
      if (order == Order::quotient_first)
        between.push_back(builder.add(Elementwise{quotient}, {between.back(), number(divisor)}));
    }
    ValueId y = builder.add(Elementwise{product}, pair(of_other ? other : x, between.back()));
    if (order == Order::quotient_last) {
      between.push_back(y);
      y = builder.add(Elementwise{quotient}, {y, number(divisor)});
    }
    std::vector<ValueId> outputs{y, other};
    if (read_again >= 0) outputs.push_back(between.at(static_cast<std::size_t>(read_again)));
    std::vector<float> values(24);
    for (int i = 0; i < 24; ++i) values[i] = static_cast<float>(i - 12) * 0.375F;
    return {"", builder.finish(outputs), {make_tensor({1, 3, 8}, values)}};
  }
};

TEST(FuseHardSwish, EachOrderOfItsNodesBecomesOneActivation) {
  for (const auto order : {Swish::Order::quotient_last, Swish::Order::quotient_first, Swish::Order::hard_sigmoid})
    for (const bool swapped : {false, true}) {
      const Model model = rewritten(Swish{.order = order, .swapped = swapped}.model(), fuse_hard_swish, 1);
      EXPECT_EQ(operations(model), (Names{"relu", "hard swish"}));
    }
}

TEST(FuseHardSwish, OtherFunctionsStay) {
  const auto stays = [](const Swish& swish) { rewritten(swish.model(), fuse_hard_swish, 0); };
  for (const float off : {-1.F, 1.F}) {
    for (const auto order : {Swish::Order::quotient_last, Swish::Order::quotient_first}) {
      stays({.added = 3 + off, .order = order});
      stays({.low = off, .order = order});
      stays({.high = 6 + off, .order = order});
      stays({.divisor = 6 + off, .order = order});
    }
    stays({.alpha = (1 + off / 4) / 6, .order = Swish::Order::hard_sigmoid});
    stays({.beta = 0.5F + off / 4, .order = Swish::Order::hard_sigmoid});
  }
  stays({.of_other = true});
  stays({.no_sum = true});
  stays({.order = Swish::Order::quotient_first, .no_sum = true});
  stays({.of_numbers = {1, 1, 1, 1}});
  stays({.order = Swish::Order::quotient_first, .of_numbers = {1, 1, 1, 1}});
  stays({.divisor = 3, .order = Swish::Order::quotient_first});
  stays({.of_numbers = {8}, .step = 1});
  stays({.alpha = 0.2F, .order = Swish::Order::hard_sigmoid});
}

TEST(FuseHardSwish, OtherCombinationsOfTheSameNumbersStay) {
  using Order = Swish::Order;
  const auto fused = [](const Swish& swish) {
    Model model = swish.model().model;
    return fuse_hard_swish(model) == 1;
  };
  for (const Both kind : {Both::add, Both::subtract, Both::multiply, Both::divide, Both::maximum, Both::minimum}) {
    SCOPED_TRACE(static_cast<int>(kind));
    for (const Order order : {Order::quotient_last, Order::quotient_first}) {
      EXPECT_EQ(fused({.order = order, .sum = kind}), kind == Both::add);
      EXPECT_EQ(fused({.order = order, .quotient = kind}), kind == Both::divide);
    }
    for (const Order order : {Order::quotient_last, Order::quotient_first, Order::hard_sigmoid})
      EXPECT_EQ(fused({.order = order, .product = kind}), kind == Both::multiply);
  }
  for (const auto gate : {Activation::Kind::sigmoid, Activation::Kind::leaky_relu, Activation::Kind::elu})
    EXPECT_FALSE(fused({.order = Order::hard_sigmoid, .gate = gate}));
}

TEST(FuseHardSwish, WhatIsReadBetweenStays) {
  for (const auto order : {Swish::Order::quotient_last, Swish::Order::quotient_first})
    for (int place = 0; place < 3; ++place)
      rewritten(Swish{.order = order, .read_again = place}.model(), fuse_hard_swish, 0);
  rewritten(Swish{.order = Swish::Order::hard_sigmoid, .read_again = 0}.model(), fuse_hard_swish, 0);
}

}  // namespace
}  // namespace spdnn
