// The ranges of a model's values on images.

#include "inference/prune/calibrate.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>

#include "inference/prune/value_run.hpp"
#include "model/oracle/evaluate.hpp"
#include "spdnn/error.hpp"
#include "support/message_of.hpp"
#include "support/models.hpp"

namespace spdnn {
namespace {

/// Linear nodes one after another, ReLU between them.
Model chain_of(Index layers) {
  testing::Rng rng(5);
  testing::ModelBuilder builder;
  ValueId x = builder.input({testing::kN, 6});
  for (Index layer = 0; layer < layers; ++layer) {
    if (layer > 0) x = builder.add(testing::make_activation(Activation::Kind::relu), {x});
    x = builder.add(testing::random_linear(rng, 6, 6, 1), {x});
  }
  return builder.finish({x});
}

Tensor random_images(Extent count) {
  testing::Rng rng(6);
  return testing::random_tensor(rng, {count, 6});
}

TEST(CalibratedRanges, AreThoseOfTheReference) {
  Model model = chain_of(4);
  const Tensor images = random_images(70);
  const auto ranges = calibrated_ranges(model, images, EngineSettings());
  ASSERT_EQ(ranges.size(), 4U);
  EXPECT_EQ(ranges.count(model.inputs.front()), 1U);
  for (const auto& [value, range] : ranges) {
    if (value == model.inputs.front()) continue;
    model.outputs.assign(1, value);
    const Bounded exact = evaluate(model, {images}).front();
    const auto [low, high] = std::minmax_element(exact.values.begin(), exact.values.end());
    EXPECT_NEAR(range.low, std::min(0.0, *low), 1e-5);
    EXPECT_NEAR(range.high, *high, 1e-5);
  }
}

/// Each value that is read is found once, and ranges hold all images, whichever come first.
TEST(CalibratedRanges, AreWidestOfAllImagesForEachValueThatIsRead) {
  testing::Rng rng(5);
  testing::ModelBuilder builder;
  const ValueId x = builder.input({testing::kN, 6});
  const ValueId a = builder.add(testing::random_linear(rng, 6, 6, 1), {x});
  const ValueId b = builder.add(testing::random_linear(rng, 6, 6, 1), {x});
  const ValueId constant = builder.constant(testing::make_tensor({1, 6}, {1, 2, 3, 4, 5, 6}));
  const ValueId c = builder.add(testing::random_linear(rng, 6, 6, 1), {constant});
  const Model model = builder.finish({builder.add(Elementwise{}, {builder.add(Elementwise{}, {a, b}), c})});
  for (const bool largest_first : {true, false}) {
    int call = 0;
    const auto make = [&](const std::vector<ValueId>& values, Index /*batch*/) {
      EXPECT_EQ(values, std::vector<ValueId>{x}) << "constants have no range to be found";
      return [&](const Tensor& /*some*/) {
        const bool large = (call++ == 0) == largest_first;
        return std::vector<Tensor>{
            testing::make_tensor({2}, large ? std::vector<float>{-3, 7} : std::vector<float>{-1, 2})};
      };
    };
    const auto ranges = calibrated_ranges(model, random_images(2 * kImagesAtOnce), make);
    EXPECT_EQ(call, 2);
    EXPECT_EQ(ranges.at(x).low, -3);
    EXPECT_EQ(ranges.at(x).high, 7);
  }
}

/// The work grows with the number of nodes, not with its square.
TEST(CalibratedRanges, EachNodeRunsOnceOnEachImage) {
  for (const Index layers : {2U, 8U, 32U}) {
    const Model model = chain_of(layers);
    std::size_t runs = 0;
    std::size_t computed = 0;
    const auto make = [&](const std::vector<ValueId>& values, Index /*batch*/) {
      ++runs;
      const auto run = std::make_shared<ValuesRun>(model, values, EngineSettings());
      return [&computed, run](const Tensor& some) {
        computed += run->nodes() * static_cast<std::size_t>(some.shape[0]);
        return (*run)(some);
      };
    };
    EXPECT_EQ(calibrated_ranges(model, random_images(100), make).size(), layers);
    EXPECT_EQ(runs, 1U);
    EXPECT_LE(computed, 100 * model.nodes.size()) << layers << " layers";
  }
}

TEST(CalibratedRanges, ManyImagesOfLargeValuesAreFewAtATime) {
  testing::Rng rng(7);
  testing::ModelBuilder builder;
  ValueId x = builder.input({testing::kN, 1, 64, 64});
  x = builder.add(testing::random_convolution(rng, 1, 4096, testing::same_window(1, 1), 1), {x});  // 64 MiB of fp32
  x = builder.add(testing::random_convolution(rng, 4096, 1, testing::same_window(1, 1), 1), {x});
  const Model model = builder.finish({x});
  std::vector<Extent> taken;
  const auto make = [&](const std::vector<ValueId>& values, Index batch) {
    EXPECT_EQ(batch, 3U);
    return [&, values](const Tensor& some) {
      taken.push_back(some.shape[0]);
      return std::vector<Tensor>(values.size(), Tensor{{1}, std::vector<float>{1}});
    };
  };
  calibrated_ranges(model, testing::random_tensor(rng, {7, 1, 64, 64}), make);
  EXPECT_EQ(taken, (std::vector<Extent>{3, 3, 1}));
}

TEST(CalibratedRanges, OfAModelThatInferRefusesAreNotFound) {
  testing::Rng rng(5);
  testing::ModelBuilder builder;
  const ValueId x = builder.input({testing::kN, 6});
  const ValueId other = builder.input({testing::kN, 6});
  const ValueId y = builder.add(testing::random_linear(rng, 6, 6, 1), {x});
  const Model model = builder.finish({builder.add(Elementwise{}, {y, other})});
  EXPECT_EQ(testing::message_of<UsageError>([&] { calibrated_ranges(model, random_images(3), EngineSettings()); }),
            "the model has 2 inputs, expected one");
}

/// Of a fixed batch, both of its images.
TEST(CalibratedRanges, OfAFixedBatchAreFoundBatchByBatch) {
  testing::Rng rng(5);
  testing::ModelBuilder builder;
  const ValueId x = builder.input({2, 6});
  const ValueId y = builder.add(testing::random_linear(rng, 6, 6, 1), {x});
  const Model model = builder.finish({builder.add(testing::random_linear(rng, 6, 6, 1), {y})});
  const Tensor images = random_images(6);
  const auto found = calibrated_ranges(model, images, EngineSettings());
  const auto [low, high] = std::minmax_element(images.values.begin(), images.values.end());
  EXPECT_EQ(found.at(x).low, *low);
  EXPECT_EQ(found.at(x).high, *high);
  EXPECT_EQ(found.count(y), 1U);
}

TEST(CalibratedRanges, AValueThatIsNotFiniteIsNamed) {
  const Model model = chain_of(2);
  const auto make = [](const std::vector<ValueId>& values, Index /*batch*/) {
    return [values](const Tensor& some) {
      std::vector<Tensor> found(values.size(), some);
      found.back() = Tensor{{1}, std::vector<float>{std::numeric_limits<float>::infinity()}};
      return found;
    };
  };
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "is not finite for one of the images 1 to 3",
                      testing::message_of<DataError>([&] { calibrated_ranges(model, random_images(3), make); }));
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "no images to calibrate with", testing::message_of<UsageError>([&] {
                        calibrated_ranges(model, random_images(0), EngineSettings());
                      }));
}

}  // namespace
}  // namespace spdnn
