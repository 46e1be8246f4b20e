// The contract of src/engines/engine.hpp: run() calls an engine in that order, and every engine keeps its side.

#include <gtest/gtest.h>

#include "inference/run/run.hpp"
#include "plan/planner.hpp"
#include "spdnn/error.hpp"
#include "support/battery.hpp"
#include "support/recording_engine.hpp"

namespace spdnn {
namespace {

using testing::RecordingEngine;
using Calls = std::vector<std::string>;

Plan plan_of_depth(Index depth) {
  testing::Rng rng(4);
  return testing::unreduced_plan(testing::random_network(rng, 8, depth, 3, 0));
}

ImageSet some_images(Index count) {
  testing::Rng rng(5);
  return testing::bit_images(rng, count, 8, 0.5);
}

TEST(Contract, RunAsksInThisOrder) {
  RecordingEngine::calls.clear();
  RunOptions options;
  options.trials = 2;
  options.batch = 3;
  const RunResult result = run(RecordingEngine::variant(), plan_of_depth(5), some_images(5), options);
  const Calls trial{"reset", "advance 0..5 to 2", "advance 2..5 to 4", "advance 4..5 to 5", "outcome"};
  Calls expected{"make for 3, binary"};
  for (const char* load : {"load 3", "load 2"}) {
    expected.emplace_back(load);
    for (int i = 0; i < 2; ++i) expected.insert(expected.end(), trial.begin(), trial.end());
  }
  EXPECT_EQ(RecordingEngine::calls, expected);
  EXPECT_EQ(result.outcome.categories, (Categories{0, 2, 3}));
}

TEST(Contract, BorderlineImagesAreLoadedByTheEngineOfThePlanInOrder) {
  RecordingEngine::calls.clear();
  Plan plan = plan_of_depth(2);
  plan.fallback = Fallback{{0.1, 0.1}, std::make_shared<const Plan>(plan)};
  plan.passes.merge = true;
  const RunResult result = run(RecordingEngine::variant(), plan, some_images(4), {});
  EXPECT_EQ(RecordingEngine::calls,
            (Calls{"merged: make for 4, binary", "make for 4, binary", "merged: load 4", "merged: reset",
                   "merged: advance 0..2 to 2", "merged: outcome", "load 1", "advance 0..2 to 2", "outcome"}));
  EXPECT_EQ(result.outcome.categories, (Categories{0, 1, 2}));
}

TEST(Contract, WithoutLayersNothingIsAdvanced) {
  RecordingEngine::calls.clear();
  const ImageSet images{testing::make_matrix(3, {{{0, 0.5F}}, {}})};
  run(RecordingEngine::variant(), testing::unreduced_plan(Network{}), images, {});
  EXPECT_EQ(RecordingEngine::calls, (Calls{"make for 2", "load 2", "reset", "outcome"}));
}

/// An image that is at the cap is settled at once where the layers after that are certified.
TEST(Contract, TheReferenceSettlesSaturatedImagesAtTheFirstCertifiedLayer) {
  Layer halves;
  halves.weights = testing::make_matrix(1, {{{0, 0.5F}}});
  Layer doubles = halves;
  doubles.weights = testing::make_matrix(1, {{{0, 2.0F}}});
  const Network network{{halves, doubles, doubles}, BiasRule::non_zeros, 1.0};
  const Plan plan = make_plan(network, parse_passes("saturated"));
  ASSERT_EQ(plan.certificates.saturated_from, 1U);
  const ImageSet images{testing::make_matrix(1, {{{0, 4.0F}}, {{0, 1.0F}}})};
  RunOptions options;
  options.engine.precision = Precision::fp64;
  const Outcome outcome = run(find_variant("cpu_reference"), plan, images, options).outcome;
  EXPECT_EQ(outcome.active, (std::vector<std::int64_t>{1, 0, 0}));
  EXPECT_EQ(outcome.alive, (std::vector<std::int64_t>{2, 2, 2}));
}

/// The first layer's bias revives rows of zeros; those that leave it stay zeros.
TEST(Contract, TheReferenceSettlesDeadImagesAtTheFirstCertifiedLayer) {
  const Network network{{testing::make_layer(1, {{{0, -1.0F}}}, 0.5), testing::make_layer(1, {{{0, 1.0F}}}, 0),
                         testing::make_layer(1, {{{0, 1.0F}}}, 0)},
                        BiasRule::everywhere,
                        32.0};
  const Plan plan = make_plan(network, parse_passes("dead"));
  ASSERT_EQ(plan.certificates.dead_from, 1U);
  const ImageSet images{testing::make_matrix(1, {{{0, 4.0F}}, {{0, 0.25F}}, {}})};
  RunOptions options;
  options.engine.precision = Precision::fp64;
  const Outcome outcome = run(find_variant("cpu_reference"), plan, images, options).outcome;
  EXPECT_EQ(outcome.active, (std::vector<std::int64_t>{2, 2, 2}));
  EXPECT_EQ(outcome.alive, (std::vector<std::int64_t>{2, 2, 2}));
  EXPECT_EQ(outcome.categories, (Categories{1, 2}));
}

TEST(Contract, TheReferenceComputesOneOfIdenticalImages) {
  const Network network{{testing::make_layer(2, {{{0, 1.0F}, {1, 1.0F}}}, 0), testing::make_layer(1, {{{0, 1.0F}}}, 0)},
                        BiasRule::non_zeros,
                        32.0};
  const ImageSet images{testing::make_matrix(2, {{{0, 1.0F}}, {{0, 2.0F}}, {{1, 1.0F}}, {}, {{1, 2.0F}}})};
  RunOptions options;
  options.engine.precision = Precision::fp64;
  const Outcome outcome =
      run(find_variant("cpu_reference"), make_plan(network, parse_passes("identical")), images, options).outcome;
  EXPECT_EQ(outcome.active, (std::vector<std::int64_t>{3, 3}));
  EXPECT_EQ(outcome.alive, (std::vector<std::int64_t>{4, 4}));
  EXPECT_EQ(outcome.identical, 2);
  EXPECT_EQ(outcome.categories, (Categories{0, 1, 2, 4}));
}

TEST(Contract, AnEngineIsNotMadeForWhatItsVariantRefuses) {
  Variant variant = RecordingEngine::variant();
  variant.support = [](const Plan&, const BatchInfo&, const EngineOptions&) {
    return Support{.why_not = "recording: not today"};
  };
  RecordingEngine::calls.clear();
  for (const Index batch : {0U, 2U}) {
    RunOptions options;
    options.batch = batch;
    EXPECT_THROW(run(variant, plan_of_depth(2), some_images(4), options), UsageError);
    EXPECT_THROW(check_run(variant, plan_of_depth(2), facts_of(some_images(4)), options), UsageError);
  }
  RunOptions fp64;
  fp64.engine.precision = Precision::fp64;
  EXPECT_THROW(run(RecordingEngine::variant(), plan_of_depth(2), some_images(4), fp64), UsageError);
  EXPECT_THROW(check_run(RecordingEngine::variant(), plan_of_depth(2), facts_of(some_images(4)), fp64), UsageError);
  EXPECT_NO_THROW(check_run(RecordingEngine::variant(), plan_of_depth(2), facts_of(some_images(4)), {}));
  EXPECT_TRUE(RecordingEngine::calls.empty());
}

class EnginesKeepTheContract : public ::testing::TestWithParam<std::size_t> {
 protected:
  const Variant& variant() const { return variants()[GetParam()]; }
  void SetUp() override {
    const Support support = support_of(variant(), plan_, batch_info(images_), options());
    if (!support.takes()) GTEST_SKIP() << support.why_not;
    EXPECT_GT(support.working_bytes, 0U);
    try {
      engine_ = testing::engine_for(variant(), plan_, images_, options());
    } catch (const DeviceError& error) {
      GTEST_SKIP() << error.what();
    }
  }
  EngineOptions options() const { return {.precision = variant().precisions.front(), .threads = 2}; }
  Outcome load_and_run(const ImageSet& images) {
    engine_->load(images);
    testing::advance_to(*engine_, 0, plan_.depth());
    return engine_->outcome();
  }

  testing::Rng rng_{31};
  Plan plan_ = testing::unreduced_plan(testing::deep_network(20), parse_passes("dead,saturated,identical"));
  ImageSet images_ = testing::bit_images(rng_, 200, 64, 0.4);
  std::unique_ptr<InspectableEngine> engine_;  ///< the only owner of its plan
};

TEST_P(EnginesKeepTheContract, LoadingIsBeforeLayerZeroAsResettingIs) {
  const Outcome loaded = load_and_run(images_);
  const Outcome again = testing::run_through(*engine_, plan_.depth());
  EXPECT_GT(loaded.categories.size(), 10U);
  EXPECT_EQ(again.categories, loaded.categories);
  EXPECT_EQ(again.alive, loaded.alive);
  engine_->reset();
  testing::advance_to(*engine_, 0, 3);  // an unfinished run leaves nothing
  EXPECT_EQ(testing::run_through(*engine_, plan_.depth()).categories, loaded.categories);
}

TEST_P(EnginesKeepTheContract, ImagesMayGoOnceTheyAreLoaded) {
  const Outcome expected = load_and_run(images_);
  {
    ImageSet short_lived{images_.to_csr()};
    engine_->load(short_lived);
  }
  EXPECT_EQ(testing::run_through(*engine_, plan_.depth()).categories, expected.categories);
}

TEST_P(EnginesKeepTheContract, LookingInsideDoesNotDisturbTheRun) {
  const Outcome expected = load_and_run(images_);
  engine_->reset();
  for (Index layer = 0; layer < plan_.depth(); ++layer) {
    ASSERT_EQ(engine_->advance(layer, layer + 1), layer + 1);
    const std::vector<double> once = engine_->activations();
    ASSERT_EQ(once.size(), std::size_t{images_.images()} * plan_.layers[layer].outputs());
    ASSERT_EQ(engine_->activations(), once) << "after layer " << layer + 1;
  }
  const Outcome found = engine_->outcome();
  EXPECT_EQ(found.categories, expected.categories);
  EXPECT_EQ(found.alive, expected.alive);
}

TEST_P(EnginesKeepTheContract, LaterBatchesMayBeSmallerOrEmpty) {
  const Outcome expected = load_and_run(images_);
  for (const Index count : {33U, 0U, 1U}) {
    const Outcome part = load_and_run(images_.slice(0, count));
    Categories kept = expected.categories;
    std::erase_if(kept, [&](Index image) { return image >= count; });
    EXPECT_EQ(part.categories, kept) << count << " images";
  }
}

/// A common weight may be multiplied last where the images are ones, but not where products would be subnormal.
TEST_P(EnginesKeepTheContract, LaterBatchesMayHaveOtherNumbers) {
  plan_ = testing::unreduced_plan(
      testing::network_of({testing::make_layer(4, {{{0, 0x1p-20F}, {1, 0x1p-20F}, {2, 0x1p-20F}}}, 0, true)}));
  plan_.cap.reset();
  const ImageSet ones{testing::make_matrix(4, {{{0, 1.0F}, {1, 1.0F}, {2, 1.0F}}})};
  const float odd = 0x1.555556p-112F;
  const ImageSet tiny{testing::make_matrix(4, {{{0, odd}, {1, odd}, {2, odd}}})};
  const auto after = [&](InspectableEngine& engine, const ImageSet& images) {
    engine.load(images);
    testing::advance_to(engine, 0, 1);
    return engine.activations();
  };
  const std::vector<double> expected = after(*testing::engine_for(variant(), plan_, tiny, options()), tiny);
  engine_ = testing::engine_for(variant(), plan_, tiny, options());
  after(*engine_, ones);
  EXPECT_EQ(after(*engine_, tiny), expected);
}

TEST_P(EnginesKeepTheContract, ACancelledRunMayBeLoadedAgain) {
  bool cancelled = false;
  EngineOptions asked = options();
  asked.threads = 1;  // others ask none
  asked.cancelled = [&] { return cancelled; };
  const Outcome expected = load_and_run(images_);
  engine_ = testing::engine_for(variant(), plan_, images_, asked);
  engine_->load(images_);
  cancelled = true;
  if (variant().device == Device::cpu) {
    EXPECT_THROW(engine_->advance(0, plan_.depth()), Cancelled);
  }
  cancelled = false;
  EXPECT_EQ(load_and_run(images_).categories, expected.categories);
}

/// Images that are alike, and become alike later, stand for each other and are counted all the same.
TEST_P(EnginesKeepTheContract, AliveImagesAreCountedWhateverIsSettled) {
  const CsrMatrix some = images_.to_csr();
  testing::Rows rows(150);
  for (Index image = 0; image < 150; ++image)
    for (const Index neuron : some.row(image * image % 60)) rows[image].emplace_back(neuron, 1.0F);
  const ImageSet images{testing::make_matrix(64, rows, true)};
  std::vector<std::int64_t> expected;
  for (const char* const passes : {"none", "identical", "saturated,identical", "dead,saturated,identical"}) {
    plan_ = make_plan(testing::deep_network(20), parse_passes(passes));
    engine_ = testing::engine_for(variant(), plan_, images, options());
    const std::vector<std::int64_t> alive = load_and_run(images).alive;
    if (expected.empty()) expected = alive;
    EXPECT_EQ(alive, expected) << passes;
  }
  EXPECT_GT(expected.front(), expected.back());
  EXPECT_GT(expected.back(), 0);
}

TEST_P(EnginesKeepTheContract, LaterBatchesMayBeLargerWhereRowsAreKept) {
  RunOptions exact;
  exact.engine.precision = Precision::fp64;
  const ImageSet many = testing::bit_images(rng_, 6000, 64, 0.4);
  engine_ = testing::engine_for(variant(), plan_, many, options());
  const Outcome expected = run(find_variant("cpu_reference"), plan_, many, exact).outcome;
  for (const Index count : {1U, 33U, 6000U}) {
    engine_->load(many.slice(0, count));
    for (Index layer = 0; layer < plan_.depth();)  // in steps, between which the rows of all images are kept
      layer = engine_->advance(layer, std::min(layer + 3, plan_.depth()));
    Categories kept = expected.categories;
    std::erase_if(kept, [&](Index image) { return image >= count; });
    EXPECT_EQ(engine_->outcome().categories, kept) << count << " images";
  }
}

INSTANTIATE_TEST_SUITE_P(Engines, EnginesKeepTheContract, ::testing::Range<std::size_t>(0, variants().size()),
                         [](const auto& test) { return std::string(variants()[test.param].name); });

}  // namespace
}  // namespace spdnn
