// Rewrites of random models: whatever they change, the outputs are within the bounds of the model as given.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "model/oracle/evaluate.hpp"
#include "model/rewrites/drop_dead_channels.hpp"
#include "model/rewrites/fold_affine.hpp"
#include "model/rewrites/rewrite.hpp"
#include "model/rewrites/share_twin_filters.hpp"
#include "support/rewrite_models.hpp"

namespace spdnn {
namespace {

using testing::ModelCase;

/// The largest deviation of an output from the given model's, in units of its bound.
double deviation(const ModelCase& given, const Model& rewritten) {
  const std::vector<Bounded> expected = evaluate(given.model, given.inputs);
  const std::vector<Bounded> found = evaluate(rewritten, given.inputs);
  EXPECT_EQ(found.size(), expected.size());
  double largest = 0;
  for (std::size_t output = 0; output < expected.size(); ++output) {
    EXPECT_EQ(found[output].shape, expected[output].shape);
    for (std::size_t i = 0; i < expected[output].values.size(); ++i) {
      const double off = std::abs(found[output].values[i] - expected[output].values[i]);
      largest = std::max(largest, off == 0 ? 0 : off / expected[output].bounds[i]);
    }
  }
  return largest;
}

/// How many of the models were changed.
int expect_within_bounds(const std::function<bool(Model&)>& rewrite_one) {
  constexpr std::uint32_t kModels = 1500;
  int changed = 0;
  for (std::uint32_t seed = 0; seed < kModels; ++seed) {
    SCOPED_TRACE(seed);
    const ModelCase given = testing::RewriteModel(seed).make();
    Model model = given.model;
    if (!rewrite_one(model)) continue;
    ++changed;
    EXPECT_NO_THROW(model.validate());
    EXPECT_LE(deviation(given, model), 1);
  }
  return changed;
}

TEST(RandomRewrites, FoldedModelsAreWithinTheBounds) {
  EXPECT_GT(expect_within_bounds([](Model& model) { return fold_affine(model) > 0; }), 300);
}

TEST(RandomRewrites, ModelsWithoutDeadChannelsAreWithinTheBounds) {
  const auto drop_all = [](Model& model) {
    const Index dropped = drop_dead_channels(model);
    EXPECT_EQ(drop_dead_channels(model), 0U) << "a second time";
    return dropped > 0;
  };
  EXPECT_GT(expect_within_bounds(drop_all), 300);
}

TEST(RandomRewrites, ModelsWithoutTwinsAreWithinTheBounds) {
  EXPECT_GT(expect_within_bounds([](Model& model) { return share_twin_filters(model) > 0; }), 300);
}

TEST(RandomRewrites, AllTogetherAreWithinTheBounds) {
  EXPECT_GT(expect_within_bounds([](Model& model) { return !rewrite(model, kAllRewrites).empty(); }), 600);
}

}  // namespace
}  // namespace spdnn
