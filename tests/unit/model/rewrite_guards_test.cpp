// Cases in which the rewrites of models must stand aside: each guard has a small model, and the nearest model that is
// rewritten.

#include <gtest/gtest.h>

#include "model/rewrites/drop_dead_channels.hpp"
#include "model/rewrites/fold_affine.hpp"
#include "model/rewrites/share_twin_filters.hpp"
#include "support/rewritten.hpp"

namespace spdnn {
namespace {

using testing::kN;
using testing::make_tensor;
using testing::ModelBuilder;
using testing::ModelCase;
using testing::rewritten;

/// A chain of operations, each on the result of the one before it.
ModelCase chain(const Shape& input, const std::vector<Operation>& operations) {
  testing::Rng rng(7);
  ModelBuilder builder;
  ValueId value = builder.input(input);
  for (const Operation& operation : operations) value = builder.add(operation, {value});
  return {"", builder.finish({value}), {testing::random_tensor(rng, with_batch(input, 2))}};
}

/// A 1 x 1 convolution of 2 channels: each of the `filters` is a row of two weights; zeros are left out.
Convolution pointwise(const std::vector<std::pair<float, float>>& filters, std::vector<float> bias) {
  testing::Rows rows;
  for (const auto& [first, second] : filters) {
    auto& row = rows.emplace_back();
    if (first != 0) row.emplace_back(0, first);
    if (second != 0) row.emplace_back(1, second);
  }
  Convolution convolution;
  convolution.weights = testing::make_matrix(2, rows);
  convolution.bias = std::move(bias);
  return convolution;
}

/// The second of four channels is constant.
Convolution with_constant(float constant) {
  return pointwise({{1, 2}, {0, 0}, {-1, 1}, {0.5F, 1}}, {0.5F, constant, -0.25F, 0.75F});
}
/// The third of four channels is the same as the second.
Convolution with_twins() { return pointwise({{1, 2}, {3, -1}, {3, -1}, {0.5F, 1}}, {0.5F, 1, 1, 0.75F}); }

/// Sums of all channels, with no two alike.
Linear summing(Index inputs, Index outputs = 3) {
  testing::Rng rng(11);
  return testing::random_linear(rng, inputs, outputs, 1);
}
Convolution summing_convolution(Index channels, Window window = {}) {
  testing::Rng rng(13);
  return testing::random_convolution(rng, channels, 3, window, 1);
}

BatchNorm norm_of(const std::vector<float>& scale) {
  return {scale, std::vector<float>(scale.size(), 0.5F), std::vector<float>(scale.size(), 0.25F),
          std::vector<float>(scale.size(), 1), 1e-3F};
}
Activation slopes(std::vector<float> alphas) {
  Activation prelu = testing::make_activation(Activation::Kind::prelu);
  prelu.alphas = std::move(alphas);
  return prelu;
}

// ---- Batch norms into the weights before them ----

/// Images 0 and 1 of four channels become four images of two, so that channel 0 holds channels 0 and 2 of the input.
TEST(FoldAffineGuards, AReshapeThatMixesImagesWithChannelsEndsTheFolding) {
  const BatchNorm norm = norm_of({2, -3});
  rewritten(chain({2, 2, 2, 2}, {with_constant(1), Reshape{{4, 2, 2, 2}}, norm}), fold_affine, 0);
  rewritten(chain({2, 2, 2, 2}, {with_constant(1), Reshape{{2, 2, 4, 2}}, norm}), fold_affine, 1);
}

TEST(FoldAffineGuards, ATransposeOfChannelsEndsTheFolding) {
  const BatchNorm norm = norm_of({2, -3, 1, 4});
  rewritten(chain({2, 2, 4, 3}, {with_constant(1), Transpose{{0, 2, 1, 3}}, norm}), fold_affine, 0);
  rewritten(chain({4, 2, 4, 3}, {with_constant(1), Transpose{{1, 0, 2, 3}}, norm}), fold_affine, 0);
  rewritten(chain({2, 2, 4, 3}, {with_constant(1), Transpose{{0, 1, 3, 2}}, norm}), fold_affine, 1);
  rewritten(chain({2, 2, 4, 3}, {with_constant(1), Transpose{{3, 1, 2, 0}}, norm}), fold_affine, 1);
}

TEST(FoldAffineGuards, AReshapeThatSplitsChannelsEndsTheFolding) {
  rewritten(chain({kN, 2, 2, 2}, {with_constant(1), Reshape{{kN, 8, 2, 1}}, norm_of({1, 2, 3, 4, 5, 6, 7, 8})}),
            fold_affine, 0);
  rewritten(chain({kN, 2, 2, 2}, {with_constant(1), Reshape{{kN, 4, 4, 1}}, norm_of({1, 2, 3, 4})}), fold_affine, 1);
}

TEST(FoldAffineGuards, SumsOnALastAxisThatIsNoChannelStay) {
  rewritten(chain({kN, 3, 3}, {summing(3), norm_of({1, 2, 3})}), fold_affine, 0);
  rewritten(chain({kN, 3}, {summing(3), norm_of({1, 2, 3})}), fold_affine, 1);
}

TEST(FoldAffineGuards, ANumberThatWidensTheSumStays) {
  for (const auto& [shape, folded] : {std::pair{Shape{1, 1, 1}, 0U}, std::pair{Shape{1, 1}, 1U}}) {
    ModelBuilder builder;
    const ValueId sums = builder.add(summing(3), {builder.input({1, 3})});
    const ValueId product =
        builder.add(Elementwise{Elementwise::Kind::multiply}, {builder.constant(make_tensor(shape, {3})), sums});
    rewritten({"", builder.finish({product}), {make_tensor({1, 3}, {1, 2, 3})}}, fold_affine, folded);
  }
}

TEST(FoldAffineGuards, AConstantOfMoreAxesStays) {
  testing::Rng rng(19);
  for (const auto& [shape, folded] : {std::pair{Shape{1, 1, 3}, 0U}, std::pair{Shape{1, 3}, 1U}}) {
    ModelBuilder builder;
    const ValueId sums = builder.add(summing(3), {builder.input({1, 3})});
    const ValueId constant = builder.constant(make_tensor(shape, {1, 2, 3}));
    const ValueId sum = builder.add(Elementwise{Elementwise::Kind::add}, {sums, constant});
    rewritten({"", builder.finish({sum}), {testing::random_tensor(rng, {1, 3})}}, fold_affine, folded);
  }
}

// ---- Channels that are constant ----

/// Axis 3 is as long as the axis of channels, so that lengths do not distinguish them.
TEST(DeadChannelGuards, SumsAlongAnotherAxisAreNoReadersOfChannels) {
  rewritten(chain({kN, 2, 3, 4}, {with_constant(0), summing(4)}), drop_dead_channels, 0);
  rewritten(chain({kN, 2, 3, 4}, {with_twins(), summing(4)}), share_twin_filters, 0);
  rewritten(chain({kN, 2, 1, 1}, {with_constant(0), Reshape{{kN, 4}}, summing(4)}), drop_dead_channels, 1);
  rewritten(chain({kN, 2, 1, 1}, {with_twins(), Reshape{{kN, 4}}, summing(4)}), share_twin_filters, 1);
}

TEST(DeadChannelGuards, ADepthwiseConvolutionWithPaddingKeepsNoConstantButZero) {
  testing::Rng rng(17);
  const auto depthwise = [&](const Window& window) {
    return testing::random_convolution(rng, 4, 4, window, 1, 4, false);
  };
  const auto with = [&](float constant, const Window& window) {
    return chain({kN, 2, 5, 5}, {with_constant(constant), depthwise(window), summing_convolution(4)});
  };
  Window below{.kernel = {2, 2}};
  below.pad_end = {1, 0};
  rewritten(with(1, testing::same_window(3, 3)), drop_dead_channels, 0);
  rewritten(with(1, below), drop_dead_channels, 0);
  rewritten(with(1, {.kernel = {3, 3}}), drop_dead_channels, 1);
  rewritten(with(0, testing::same_window(3, 3)), drop_dead_channels, 1);
}

TEST(DeadChannelGuards, AReaderWithPaddingTakesNoConstantButZero) {
  for (const auto& [constant, padded, dropped] :
       {std::tuple{1.F, true, 0U}, std::tuple{1.F, false, 1U}, std::tuple{0.F, true, 1U}}) {
    Window window{.kernel = {3, 3}};
    if (padded) window.pad_begin = {0, 1};
    rewritten(chain({kN, 2, 5, 5}, {with_constant(constant), summing_convolution(4, window)}), drop_dead_channels,
              dropped);
  }
}

TEST(DeadChannelGuards, AMeanThatCountsItsPaddingKeepsNoConstantButZero) {
  const auto with = [](float constant, Index pad, Pool::Kind kind, bool counted) {
    const Pool pool{.kind = kind, .window = {.kernel = {2, 2}, .pad_end = {0, pad}}, .count_padding = counted};
    return chain({kN, 2, 4, 4}, {with_constant(constant), pool, summing_convolution(4)});
  };
  rewritten(with(1, 1, Pool::Kind::average, true), drop_dead_channels, 0);
  rewritten(with(1, 1, Pool::Kind::average, false), drop_dead_channels, 1);
  rewritten(with(1, 1, Pool::Kind::max, false), drop_dead_channels, 1);
  rewritten(with(1, 0, Pool::Kind::average, true), drop_dead_channels, 1);
  rewritten(with(0, 1, Pool::Kind::average, true), drop_dead_channels, 1);
}

TEST(DeadChannelGuards, AConstantWhoseContributionsOverflowStays) {
  const Convolution reader = pointwise({{1, 30}}, {});
  for (const auto& [constant, dropped] : {std::pair{3e37F, 0U}, std::pair{1e36F, 1U}})
    rewritten(chain({kN, 2, 2, 2}, {pointwise({{1, 2}, {0, 0}}, {0.5F, constant}), reader}), drop_dead_channels,
              dropped);
}

/// A flattening turns one channel into several elements of axis 1, each with parameters of its own.
TEST(DeadChannelGuards, AFlattenedChannelIsConstantOnlyIfAllItsElementsAre) {
  const Reshape flat{{kN, 8}};
  const std::vector<float> varied{1, 2, 3, 4, 5, 6, 7, 8};
  rewritten(chain({kN, 2, 1, 2}, {with_constant(-1), flat, norm_of(varied), summing(8)}), drop_dead_channels, 0);
  rewritten(chain({kN, 2, 1, 2}, {with_constant(-1), flat, slopes(varied), summing(8)}), drop_dead_channels, 0);
  rewritten(chain({kN, 2, 1, 2}, {with_constant(-1), flat, summing(8)}), drop_dead_channels, 1);
}

TEST(DeadChannelGuards, WhatMixesChannelsOrImagesEndsThePath) {
  const Operation reader = summing_convolution(4);
  for (const Operation& mixing :
       {Operation(Softmax{1}), Operation(Transpose{{0, 2, 1, 3}}), Operation(Pad{{0, 0, 0, 1}, {0, 0, 0, 0}, 2})})
    rewritten(chain({kN, 2, 4, 4}, {with_constant(1), mixing, reader}), drop_dead_channels, 0);
  rewritten(chain({2, 2, 4, 4}, {with_constant(1), Reshape{{4, 2, 4, 4}}, summing_convolution(2)}), drop_dead_channels,
            0);
  rewritten(chain({kN, 2, 4, 4}, {with_constant(1), Reshape{{kN, 2, 8, 4}}, summing_convolution(2)}),
            drop_dead_channels, 0);
  testing::Rng rng(19);
  rewritten(chain({kN, 2, 4, 4}, {with_constant(1), testing::random_convolution(rng, 4, 4, {}, 1, 2), reader}),
            drop_dead_channels, 0);
  rewritten(chain({kN, 2, 4, 4}, {with_constant(1), Activation{}, reader}), drop_dead_channels, 1);
}

/// There are as many channels before as after, but images 0 and 1 become four, so that other channels are meant.
TEST(DeadChannelGuards, AReshapeThatMakesOtherImagesOfAsManyChannelsEndsThePath) {
  rewritten(chain({2, 2, 2, 2}, {with_constant(1), Reshape{{4, 4, 2, 1}}, summing_convolution(4)}), drop_dead_channels,
            0);
  rewritten(chain({2, 2, 2, 2}, {with_constant(1), Reshape{{2, 4, 4, 1}}, summing_convolution(4)}), drop_dead_channels,
            1);
}

/// The outputs of a linear node on three axes are on the last one; a convolution of sequences reads the one before it.
TEST(DeadChannelGuards, SumsOnALastAxisThatIsNoChannelMakeNone) {
  const auto rows = [](const Convolution& of) { return Linear{of.weights, of.bias}; };
  rewritten(chain({kN, 4, 2}, {rows(with_constant(1)), summing_convolution(4)}), drop_dead_channels, 0);
  rewritten(chain({kN, 4, 2}, {rows(with_twins()), summing_convolution(4)}), share_twin_filters, 0);
}

/// Elements of a channel have filters of their own where they become channels.
TEST(DeadChannelGuards, FiltersOfTheElementsOfAFlattenedChannelMakeItNoConstant) {
  Convolution of_each;
  of_each.groups = 8;
  testing::Rows rows(8);
  for (std::size_t i = 0; i < 8; ++i) rows[i] = {{0, 1.F + static_cast<float>(i)}};
  of_each.weights = testing::make_matrix(1, rows);
  of_each.bias = {1, 2, 3, 4, 5, 6, 7, 8};
  const auto with = [&](float constant) {
    return chain({kN, 2, 1, 2},
                 {with_constant(constant), Reshape{{kN, 8}}, Reshape{{kN, 8, 1, 1}}, of_each, summing_convolution(8)});
  };
  rewritten(with(0), drop_dead_channels, 0);
  rewritten(with(1), drop_dead_channels, 0);
}

TEST(DeadChannelGuards, WhatTakesChannelsOneByOneIsPassed) {
  Resize larger{.size = {4, 4}};
  larger.scale = {2, 2};
  for (const Operation& single :
       {Operation(Pool{.window = {.kernel = {2, 2}}}), Operation(GlobalPool{}), Operation(larger),
        Operation(norm_of({2, 3, 3, 4})), Operation(testing::make_clip(0, 6))}) {
    rewritten(chain({kN, 2, 2, 2}, {with_constant(1), single, summing_convolution(4)}), drop_dead_channels, 1);
    rewritten(chain({kN, 2, 2, 2}, {with_twins(), single, summing_convolution(4)}), share_twin_filters, 1);
  }
}

/// The bias would be infinite. The negative channel, which the relu makes zero, is removed nevertheless.
TEST(DeadChannelGuards, AConstantThatMakesABiasInfiniteStays) {
  for (const float constant : {3e38F, -3e38F}) {
    const Linear reader{testing::make_matrix(4, {{{0, 1.F}, {1, 3.F}}}), {}};
    Model model = chain({kN, 2, 1, 1}, {with_constant(constant), Reshape{{kN, 4}}, Activation{}, reader}).model;
    drop_dead_channels(model);
    model.validate();
    EXPECT_EQ(matrix_or_null(model.nodes[0].operation)->rows, constant > 0 ? 4U : 1U);
  }
}

TEST(DeadChannelGuards, AChannelOfAConcatenationStays) {
  ModelBuilder builder;
  const ValueId x = builder.input({kN, 2, 3, 3});
  const ValueId made = builder.add(with_constant(1), {x});
  const ValueId joined = builder.add(Concat{1}, {made, made});
  testing::Rng rng(23);
  const ModelCase c{
      "", builder.finish({builder.add(summing_convolution(8), {joined})}), {testing::random_tensor(rng, {2, 2, 3, 3})}};
  rewritten(c, drop_dead_channels, 0);
  rewritten(c, share_twin_filters, 0);
}

// ---- Twins ----

TEST(TwinGuards, ChannelsWithOtherSlopesAreNoTwins) {
  const Operation reader = summing_convolution(4);
  rewritten(chain({kN, 2, 3, 3}, {with_twins(), slopes({1, 0.5F, -0.5F, 2}), reader}), share_twin_filters, 0);
  rewritten(chain({kN, 2, 3, 3}, {with_twins(), slopes({1, 0.5F, 0.5F, 2}), reader}), share_twin_filters, 1);
  rewritten(chain({kN, 2, 3, 3}, {with_twins(), slopes({0.25F}), reader}), share_twin_filters, 1);
}

TEST(TwinGuards, ChannelsWithOtherDepthwiseFiltersAreNoTwins) {
  const auto with = [&](float weight, float bias) {
    Convolution depthwise;
    depthwise.groups = 4;
    depthwise.weights = testing::make_matrix(1, {{{0, 1.F}}, {{0, 2.F}}, {{0, weight}}, {{0, 3.F}}});
    depthwise.bias = {1, 2, bias, 3};
    return chain({kN, 2, 3, 3}, {with_twins(), depthwise, summing_convolution(4)});
  };
  rewritten(with(2, 2), share_twin_filters, 1);
  rewritten(with(-2, 2), share_twin_filters, 0);
  rewritten(with(2, 1), share_twin_filters, 0);
}

/// One filter after the other, the first channel's weights are the same numbers as the second's.
TEST(TwinGuards, WeightsOfAFilterAreNotTakenForThoseOfTheNext) {
  Convolution depthwise;
  depthwise.groups = 3;
  depthwise.window.kernel = {1, 2};
  depthwise.weights = testing::make_matrix(2, {{}, {{1, 2.F}}, {{0, 3.F}}});
  rewritten(chain({kN, 2, 3, 3}, {pointwise({{1, 2}, {1, 0}, {3, 3}}, {}), depthwise, summing_convolution(3)}),
            share_twin_filters, 0);
}

/// After a flattening, all elements of two channels must be treated alike, not their first ones alone.
TEST(TwinGuards, FlattenedChannelsAreTwinsOnlyIfAllTheirElementsAre) {
  const Reshape flat{{kN, 8}};
  const std::vector<float> equal{1, 2, 3, 4, 3, 4, 7, 8};
  std::vector<float> second = equal;
  second[5] = -4;
  for (const bool norm : {false, true}) {
    const auto with = [&](const std::vector<float>& numbers) {
      const Operation between = norm ? Operation(norm_of(numbers)) : Operation(slopes(numbers));
      return chain({kN, 2, 1, 2}, {with_twins(), flat, between, summing(8)});
    };
    rewritten(with(equal), share_twin_filters, 1);
    rewritten(with(second), share_twin_filters, 0);
  }
}

/// Fp32 holds numbers below 1e-38 with fewer digits.
TEST(TwinGuards, WeightsWhoseSumWouldLoseDigitsAreNotAdded) {
  const auto read_by = [](float first, float second) {
    Convolution reader;
    reader.weights = testing::make_matrix(3, {{{0, first}, {1, second}, {2, 1.F}}});
    return chain({kN, 2, 3, 3}, {pointwise({{1, 0}, {1, 0}, {2, 2}}, {}), reader});
  };
  rewritten(read_by(1.5e-38F, 1.4e-38F), share_twin_filters, 1);
  rewritten(read_by(1.5e-38F, -1.4e-38F), share_twin_filters, 0);
}

TEST(TwinGuards, FiltersThatReadOtherInputsAreNoTwins) {
  const Operation reader = summing_convolution(3);
  rewritten(chain({kN, 2, 3, 3}, {pointwise({{1, 0}, {0, 1}, {2, 2}}, {}), reader}), share_twin_filters, 0);
  rewritten(chain({kN, 2, 3, 3}, {pointwise({{1, 0}, {1, 0}, {2, 2}}, {}), reader}), share_twin_filters, 1);
}

}  // namespace
}  // namespace spdnn
