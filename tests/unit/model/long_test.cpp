// Models of many thousand nodes: rewrites, memory plans and runs take time proportional to the number of nodes. With
// quadratic cost, these tests would take minutes.

#include <gtest/gtest.h>

#include "model/rewrites/drop_dead_channels.hpp"
#include "model/rewrites/rewrite.hpp"
#include "program/arena.hpp"
#include "program/steps.hpp"
#include "spdnn/model_inference.hpp"
#include "support/models.hpp"
#include "support/sampled.hpp"

namespace spdnn {
namespace {

using testing::make_matrix;
using testing::make_tensor;
using testing::ModelBuilder;

int nodes_of_a_long_model() { return testing::sampled(3000, 10000); }

Model relus() {
  ModelBuilder builder;
  ValueId x = builder.input({kBatchExtent, 2});
  x = builder.add(Linear{make_matrix(2, {{{0, 1.F}}, {{1, -1.F}}}), {}}, {x});
  for (int node = 0; node < nodes_of_a_long_model(); ++node) x = builder.add(Activation{}, {x});
  return builder.finish({x});
}

TEST(LongModels, OfActivationsAreRewrittenAndRun) {
  ModelSpec spec;
  spec.threads = 1;
  ModelInference inference(spec);
  inference.load(relus(), make_tensor({2, 2}, {3, 4, -5, -6}));
  inference.plan();
  inference.run();
  const Array<float>& logits = inference.report().logits().values;
  EXPECT_EQ(std::vector<float>(logits.begin(), logits.end()), (std::vector<float>{3, 0, 0, 6}));
}

/// Each layer has a filter without weights, and two that become twins once the constant of the layer before is folded.
TEST(LongModels, OfSumsLoseTheirChannelsOneAfterAnother) {
  const int layers = nodes_of_a_long_model() / 2;
  ModelBuilder builder;
  ValueId x = builder.input({kBatchExtent, 4});
  for (int layer = 0; layer < layers; ++layer) {
    const testing::Rows rows{{{0, 0.5F}, {3, 0.25F}}, {}, {{0, 1.F}, {2, 0.5F}}, {{0, 1.F}, {2, 0.5F}}};
    x = builder.add(Activation{}, {builder.add(Linear{make_matrix(4, rows), {}}, {x})});
  }
  Model model = builder.finish({x});
  EXPECT_EQ(rewrite(model, kAllRewrites).size(), 2U);
  model.validate();
  for (int layer = 0; layer + 1 < layers; ++layer)
    EXPECT_LE(matrix_or_null(model.nodes[2 * layer].operation)->rows, 2U) << layer;
}

/// The filters of the last layer read nothing: layer by layer, backwards, nothing is read.
TEST(LongModels, OfSumsThatNothingReadsAreLeftWithOneChannelEach) {
  constexpr int kLayers = 400;
  testing::Rng rng(5);
  ModelBuilder builder;
  ValueId x = builder.input({kBatchExtent, 3});
  for (int layer = 0; layer < kLayers; ++layer) {
    testing::Rows rows{{{0, 1.F}}, {{1, 1.F}, {2, 1.F}}, {{1, 1.F}, {2, -1.F}}};
    if (layer + 1 == kLayers) rows = {{{0, 1.F}}, {}, {}};
    x = builder.add(Activation{}, {builder.add(Linear{make_matrix(3, rows), {}}, {x})});
  }
  Model model = builder.finish({x});
  EXPECT_EQ(drop_dead_channels(model), 2U * (kLayers - 1));
  for (int layer = 0; layer + 1 < kLayers; ++layer)
    EXPECT_EQ(matrix_or_null(model.nodes[2 * layer].operation)->rows, 1U) << layer;
}

TEST(LongModels, BuffersOfAChainTakeTwoPlaces) {
  std::vector<Lifetime> lifetimes;
  for (std::size_t step = 0; step < 200000; ++step) lifetimes.push_back({640, step, step + 1});
  EXPECT_EQ(lay_out(lifetimes).bytes, 1280);
}

TEST(LongModels, StepsAreAsManyAsNodes) {
  const Model model = relus();
  EXPECT_EQ(steps_of(model, true).size(), model.nodes.size() - 1) << "the first activation is fused";
}

}  // namespace
}  // namespace spdnn
