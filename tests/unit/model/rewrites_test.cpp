// Rewrites of models: their changes, the cases in which they stand aside, and the given model's bounds on the result.

#include <gtest/gtest.h>

#include <cmath>

#include "model/graph/remove_unread.hpp"
#include "model/oracle/evaluate.hpp"
#include "model/rewrites/drop_dead_channels.hpp"
#include "model/rewrites/fold_affine.hpp"
#include "model/rewrites/fold_constants.hpp"
#include "model/rewrites/rewrite.hpp"
#include "model/rewrites/share_twin_filters.hpp"
#include "spdnn/error.hpp"
#include "support/message_of.hpp"
#include "support/rewritten.hpp"

namespace spdnn {
namespace {

using testing::kN;
using testing::make_tensor;
using testing::ModelBuilder;
using testing::ModelCase;
using testing::Rng;

using testing::Names;
using testing::operations;
using testing::rewritten;

TEST(RemoveUnread, NodesThatNoOutputDependsOnGo) {
  Rng rng(1);
  ModelBuilder builder;
  const ValueId x = builder.input({kN, 3});
  const ValueId unread_input = builder.input({kN, 2});
  const ValueId lost = builder.add(Activation{}, {x});
  builder.add(testing::random_linear(rng, 3, 4, 1), {lost});
  const ValueId y = builder.add(testing::random_linear(rng, 3, 2, 1), {x});
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

TEST(FoldConstants, WhatIsNotLargeGoesAndWhatIsNoLargerThanItsMaking) {
  constexpr Extent kSide = 2048;
  const auto folded = [](Extent rows, Extent from) {
    ModelBuilder builder;
    const Shape shape{1, 1, from, kSide};
    const ValueId row =
        builder.constant(make_tensor(shape, std::vector<float>(static_cast<std::size_t>(shape[2] * kSide), 1)));
    const Operation pad = Pad{{0, 0, 0, 0}, {0, 0, rows - from, 0}, 0};
    Model model = builder.finish({builder.add(rows == from ? Operation{Activation{}} : pad, {row})});
    return fold_constants(model) == 1;
  };
  EXPECT_TRUE(folded(kSide, 1));
  EXPECT_FALSE(folded(kSide + 1, 1));
  EXPECT_TRUE(folded(kSide + 1, kSide + 1));
  EXPECT_FALSE(folded(kSide + 2, kSide + 1));
}

// ---- Channels ----

/// The rows of weights, to be changed.
testing::Rows rows_of(const CsrMatrix& weights) {
  testing::Rows rows(weights.rows);
  for (Index row = 0; row < weights.rows; ++row)
    for (Offset k = weights.offsets[row]; k < weights.offsets[row + 1]; ++k)
      rows[row].emplace_back(weights.indices[k], weights.entry_value(k));
  return rows;
}

/// Two convolutions with operations between them, and a classifier on flattened pixels.
struct Chain {
  Rng rng{31};
  Convolution first = testing::random_convolution(rng, 3, 6, testing::same_window(3, 3), 0.5);
  std::vector<Operation> between;
  Convolution second = testing::random_convolution(rng, 6, 5, {.kernel = {2, 2}}, 0.6);
  Linear last = testing::random_linear(rng, 5 * 3 * 4, 4, 0.5);

  template <class Change>
  void change_first(const Change& change) {
    auto rows = rows_of(first.weights);
    change(rows);
    first.weights = testing::make_matrix(first.weights.cols(), rows);
  }
  /// Removes the second convolution's weights for an input channel.
  void unread(Index channel) {
    auto rows = rows_of(second.weights);
    for (auto& row : rows) std::erase_if(row, [&](const testing::Term& term) { return term.first / 4 == channel; });
    second.weights = testing::make_matrix(second.weights.cols(), rows);
  }
  ModelCase model() {
    ModelBuilder builder;
    ValueId value = builder.input({kN, 3, 8, 10});
    value = builder.add(first, {value});
    for (const Operation& operation : between) value = builder.add(operation, {value});
    value = builder.add(second, {value});
    value = builder.add(Activation{}, {value});
    value = builder.add(Reshape{{kN, 5 * 3 * 4}}, {value});
    value = builder.add(last, {value});
    return {"", builder.finish({value}), {testing::random_tensor(rng, {2, 3, 8, 10})}};
  }
};

const Pool halving{.window = {.kernel = {2, 2}, .stride = {2, 2}}};

const CsrMatrix& weights_at(const Model& model, std::size_t node) {
  return *matrix_or_null(model.nodes[node].operation);
}

TEST(DropDeadChannels, NothingIsDroppedWithoutReason) {
  Chain chain;
  chain.between = {halving};
  rewritten(chain.model(), drop_dead_channels, 0);
  rewritten(chain.model(), share_twin_filters, 0);
}

TEST(DropDeadChannels, ChannelsThatNothingReadsGo) {
  Chain chain;
  Activation slopes = testing::make_activation(Activation::Kind::prelu);
  slopes.alphas = testing::random_values(chain.rng, 6, -1, 1);
  chain.between = {testing::random_norm(chain.rng, 6), slopes,
                   testing::random_convolution(chain.rng, 6, 6, testing::same_window(3, 3), 0.7, 6), halving};
  chain.unread(1);
  chain.unread(4);
  const Model model = rewritten(chain.model(), drop_dead_channels, 2);
  EXPECT_EQ(weights_at(model, 0).rows, 4U);
  EXPECT_EQ(weights_at(model, 3).rows, 4U);
  EXPECT_EQ(std::get<Convolution>(model.nodes[3].operation).groups, 4U);
  EXPECT_EQ(weights_at(model, 5).cols, 16U);
}

TEST(DropDeadChannels, ConstantChannelsBecomeABias) {
  Chain chain;
  chain.change_first([](auto& rows) {
    rows[0].clear();
    rows[3].clear();
  });
  chain.first.bias = {2, 1, 1, -5, 1, 1};
  chain.between = {testing::random_norm(chain.rng, 6), testing::make_activation(Activation::Kind::sigmoid), halving};
  const Model model = rewritten(chain.model(), drop_dead_channels, 2);
  EXPECT_EQ(weights_at(model, 0).rows, 4U);
}

TEST(DropDeadChannels, AFlattenedChannelGoesWithAllItsPixels) {
  Chain chain;
  chain.between = {halving};
  auto rows = rows_of(chain.second.weights);
  rows[2].clear();
  chain.second.weights = testing::make_matrix(chain.second.weights.cols(), rows);
  chain.second.bias[2] = 0.75F;
  const Model model = rewritten(chain.model(), drop_dead_channels, 1);
  EXPECT_EQ(weights_at(model, 2).rows, 4U);
  EXPECT_EQ(weights_at(model, 5).cols, 48U);
}

TEST(DropDeadChannels, OneGoneMakesOthersGo) {
  Chain chain;
  chain.between = {halving};
  auto rows = rows_of(chain.second.weights);
  rows[0] = {{3 * 4 + 1, 2.F}};  // reads channel 3 alone, which is constant, and so becomes constant itself
  chain.second.weights = testing::make_matrix(chain.second.weights.cols(), rows);
  chain.change_first([](auto& first) { first[3].clear(); });
  rewritten(chain.model(), drop_dead_channels, 2);
}

TEST(DropDeadChannels, PaddingKeepsConstantsThatAreNotZero) {
  for (const float bias : {1.F, -1.F}) {
    Chain chain;
    chain.change_first([](auto& rows) { rows[2].clear(); });
    chain.first.bias[2] = bias;
    chain.between = {Activation{}, halving};
    chain.second.window.pad_end = {1, 0};
    chain.last = testing::random_linear(chain.rng, 5 * 4 * 4, 4, 0.5);
    ModelBuilder builder;
    ValueId value = builder.input({kN, 3, 8, 10});
    value = builder.add(chain.first, {value});
    for (const Operation& operation : chain.between) value = builder.add(operation, {value});
    value = builder.add(chain.second, {value});
    const ModelCase c{"", builder.finish({value}), {testing::random_tensor(chain.rng, {2, 3, 8, 10})}};
    rewritten(c, drop_dead_channels, bias > 0 ? 0 : 1);  // a relu makes the negative one zero
  }
}

TEST(DropDeadChannels, AMeanThatCountsPaddingIsNotConstant) {
  Chain chain;
  chain.change_first([](auto& rows) { rows[2].clear(); });
  Pool pool{.kind = Pool::Kind::average, .window = {.kernel = {2, 2}, .stride = {2, 2}}, .count_padding = true};
  chain.between = {pool};
  rewritten(chain.model(), drop_dead_channels, 1);
  pool.window.kernel = {4, 4};
  pool.window.pad_begin = {1, 1};
  pool.window.pad_end = {1, 1};
  chain.between = {pool};
  rewritten(chain.model(), drop_dead_channels, 0);
}

TEST(DropDeadChannels, ADepthwiseFilterWithoutWeightsIsConstant) {
  Chain chain;
  Convolution depthwise = testing::random_convolution(chain.rng, 6, 6, testing::same_window(3, 3), 1, 6);
  auto rows = rows_of(depthwise.weights);
  rows[5].clear();
  depthwise.weights = testing::make_matrix(9, rows);
  chain.between = {depthwise, halving};
  rewritten(chain.model(), drop_dead_channels, 1);
}

TEST(DropDeadChannels, OneChannelStays) {
  Chain chain;
  chain.between = {halving};
  chain.second.weights = testing::make_matrix(24, testing::Rows(5));
  const Model model = rewritten(chain.model(), drop_dead_channels, 5 + 4);
  EXPECT_EQ(weights_at(model, 0).rows, 1U);
}

TEST(ChannelRewrites, ChannelsThatMeetOthersStay) {
  Chain chain;
  chain.change_first([](auto& rows) {
    rows[0].clear();
    rows[2] = rows[1];
  });
  chain.first.bias.clear();
  const auto with = [&](bool output) {
    ModelBuilder builder;
    const ValueId x = builder.input({kN, 3, 8, 10});
    const ValueId made = builder.add(chain.first, {x});
    const ValueId sum = output ? made : builder.add(Elementwise{}, {made, builder.add(Activation{}, {made})});
    const ValueId y = builder.add(chain.second, {sum});
    return ModelCase{"",
                     builder.finish(output ? std::vector{y, made} : std::vector{y}),
                     {testing::random_tensor(chain.rng, {1, 3, 8, 10})}};
  };
  for (const bool output : {false, true}) {
    rewritten(with(output), drop_dead_channels, 0);
    rewritten(with(output), share_twin_filters, 0);
  }
}

TEST(ShareTwinFilters, ReadersAddUpTheWeightsOfTwins) {
  Chain chain;
  chain.change_first([](auto& rows) {
    rows[4] = rows[1];
    rows[5] = rows[1];
    rows[3] = rows[0];
  });
  chain.first.bias = {1, 2, 3, 1.5F, 2, 2};  // rows 0 and 3 differ in their biases
  chain.between = {Activation{}, halving};
  const Model model = rewritten(chain.model(), share_twin_filters, 2);
  EXPECT_EQ(weights_at(model, 0).rows, 4U);
  EXPECT_EQ(weights_at(model, 3).cols, 16U);
}

TEST(ShareTwinFilters, TwinsThatAreTreatedDifferentlyStay) {
  Chain chain;
  chain.change_first([](auto& rows) {
    rows[2] = rows[1];
    rows[5] = rows[4];
  });
  chain.first.bias.clear();
  BatchNorm norm = testing::random_norm(chain.rng, 6);
  for (std::vector<float>* values : {&norm.scale, &norm.shift, &norm.mean, &norm.variance}) {
    (*values)[5] = (*values)[4];
    (*values)[2] = (*values)[1];
  }
  norm.shift[2] += 1;
  chain.between = {norm, halving};
  rewritten(chain.model(), share_twin_filters, 1);
}

/// A chain whose first two filters are twins; `change` takes the rows that read them.
template <class Change>
Chain chain_of_twins(const Change& change) {
  Chain chain;
  chain.between = {halving};
  chain.change_first([](auto& rows) { rows[1] = rows[0]; });
  chain.first.bias.clear();
  auto rows = rows_of(chain.second.weights);
  change(rows);
  chain.second.weights = testing::make_matrix(24, rows);
  return chain;
}

TEST(ShareTwinFilters, TwinsOfTwinsAreFound) {
  Chain chain = chain_of_twins([](auto& rows) {
    rows[0] = {{0, 1.F}, {9, 2.F}};
    rows[3] = {{4, 1.F}, {9, 2.F}};  // the same, of the twin
  });
  chain.second.bias.clear();
  rewritten(chain.model(), share_twin_filters, 2);
}

TEST(ShareTwinFilters, WeightsThatCancelGo) {
  Chain chain = chain_of_twins([](auto& rows) { rows[0] = {{0, 1.F}, {4, -1.F}, {9, 2.F}}; });
  const Model model = rewritten(chain.model(), share_twin_filters, 1);
  EXPECT_EQ(weights_at(model, 2).degree(0), 1U);
}

TEST(ShareTwinFilters, WeightsThatWouldOverflowStay) {
  Chain chain = chain_of_twins([](auto& rows) { rows[0] = {{0, 3e38F}, {4, 3e38F}}; });
  Model model = chain.model().model;
  EXPECT_EQ(share_twin_filters(model), 0U);
  EXPECT_EQ(weights_at(model, 0).rows, 6U);
}

/// A model in which each rewrite finds something.
ModelCase model_for_all() {
  Chain chain;
  chain.change_first([](auto& rows) { rows[4] = rows[1]; });
  chain.first.bias.clear();
  chain.unread(2);
  ModelBuilder builder;
  const ValueId x = builder.input({kN, 3, 8, 10});
  const auto number = [&](float value) { return builder.constant(make_tensor({1}, {value})); };
  const auto combined = [&](Elementwise::Kind kind, ValueId a, ValueId b) {
    return builder.add(Elementwise{kind}, {a, b});
  };
  const ValueId padded = builder.add(Pad{{0, 0, 0, 0}, {0, 0, 0, 0}, 0}, {x});
  const ValueId first = builder.add(halving, {builder.add(chain.first, {padded})});
  const ValueId second = builder.add(chain.second, {first});
  const ValueId normed = builder.add(testing::random_norm(chain.rng, 5), {second});
  const ValueId clipped = builder.add(testing::make_clip(0, 6), {combined(Elementwise::Kind::add, normed, number(3))});
  const ValueId product = combined(Elementwise::Kind::multiply, normed, clipped);
  const ValueId swished = combined(Elementwise::Kind::divide, product, number(6));
  const ValueId logits = builder.add(chain.last, {builder.add(Reshape{{kN, 5 * 3 * 4}}, {swished})});
  const ValueId turned = builder.add(Transpose{{1, 0}}, {builder.constant(make_tensor({4, 1}, {1, 2, 3, 4}))});
  const ValueId y = builder.add(Softmax{}, {combined(Elementwise::Kind::multiply, logits, turned)});
  builder.add(Activation{}, {x});
  return {"", builder.finish({y}), {testing::random_tensor(chain.rng, {2, 3, 8, 10})}};
}

TEST(Rewrites, AreMadeAsChosen) {
  const ModelCase c = model_for_all();
  const auto notes = [&](const std::string& names) {
    Model model = c.model;
    return rewrite(model, parse_rewrites(names));
  };
  EXPECT_EQ(to_string(kAllRewrites), "constants,hard_swish,padding,affine,dead_channels,twin_filters,unread,epilogues");
  EXPECT_EQ(parse_rewrites(to_string(kAllRewrites)), kAllRewrites);
  EXPECT_EQ(to_string(parse_rewrites("twin_filters,affine")), "affine,twin_filters");
  EXPECT_EQ(to_string(Rewrites{}), "none");
  const std::string message =
      testing::message_of<UsageError>([] { parse_rewrites("affine,batch_norms", "--rewrite"); });
  EXPECT_TRUE(message.starts_with("--rewrite: 'batch_norms' is not a rewrite; expected ")) << message;
  EXPECT_TRUE(notes("none").empty());
  EXPECT_TRUE(notes("epilogues").empty());
  const std::vector<std::pair<std::string, std::string>> each{
      {"constants", "1 node of constants is computed beforehand"},
      {"hard_swish", "1 hard swish is fused into one activation"},
      {"padding", "1 convolution or pool takes the pad before it as its padding"},
      {"affine", "1 batch norm, sum or product is folded into the weights before"},
      {"dead_channels", "1 channel is removed, as no output depends on them"},
      {"twin_filters", "1 channel is computed once for several equal ones"},
      {"unread", "1 node is removed, as no output depends on it"}};
  for (const auto& [chosen, note] : each) {
    EXPECT_EQ(notes(chosen), Names{note});
    std::string others;
    for (const auto& [other, unused] : each)
      if (other != chosen) others += (others.empty() ? "" : ",") + other;
    const std::string what = note.substr(note.rfind(' '));
    for (const std::string& made : notes(others)) EXPECT_NE(made.substr(made.rfind(' ')), what) << made;
  }
}

TEST(ChannelRewrites, AllRewritesTogetherStayWithinTheBounds) {
  for (std::uint32_t seed = 1; seed < 9; ++seed) {
    const ModelCase c = testing::small_network(seed, 0.12);
    const auto all = [](Model& model) {
      return fold_constants(model) + fold_affine(model) + share_twin_filters(model) + drop_dead_channels(model) +
             remove_unread(model);
    };
    Model model = c.model;
    const Index changes = all(model);
    EXPECT_GE(changes, 3U);
    rewritten(c, all, changes);
  }
}

}  // namespace
}  // namespace spdnn
