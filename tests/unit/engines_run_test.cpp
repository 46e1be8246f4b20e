// The one loop: batches from the memory at hand, trials that must agree, merged plans with borderline images.

#include <gtest/gtest.h>

#include "core/stopwatch.hpp"
#include "engines/devices.hpp"
#include "inference/run.hpp"
#include "spdnn/error.hpp"
#include "support/battery.hpp"
#include "support/recording_engine.hpp"

namespace spdnn {
namespace {

using testing::Case;

RunOptions options_of(int trials, Index batch = 0) {
  RunOptions options;
  options.engine.threads = 1;
  options.trials = trials;
  options.batch = batch;
  return options;
}

/// Keeps images 0, 2, 4, ... of each batch; in the trials after the first, 1, 3, 5, ...
class WaveringEngine final : public Engine {
 public:
  void load(const ImageSet& images) override { images_ = images.images(); }
  void reset() override { ++trial_; }
  Index advance(Index /*first*/, Index until) override { return until; }
  Outcome outcome() override {
    Outcome outcome;
    for (Index image = trial_ > 1 ? 1 : 0; image < images_; image += 2) outcome.categories.push_back(image);
    return outcome;
  }

 private:
  Index images_ = 0;
  int trial_ = 0;
};

/// Batches of up to `most` images take one byte, larger ones more than there is.
template <Index most>
Support fits_up_to(const Plan&, const BatchInfo& batch, const EngineOptions&) {
  return {.working_bytes = batch.images <= most ? 1 : std::numeric_limits<std::size_t>::max() / 4};
}

Variant variant_with(Support (*support)(const Plan&, const BatchInfo&, const EngineOptions&)) {
  Variant variant = testing::RecordingEngine::variant();
  variant.support = support;
  return variant;
}

template <class Made>
Variant variant_of() {
  Variant variant = testing::RecordingEngine::variant();
  variant.make = [](std::shared_ptr<const Plan>, const BatchInfo&, const EngineOptions&) -> std::unique_ptr<Engine> {
    return std::make_unique<Made>();
  };
  return variant;
}

struct Small {
  testing::Dice dice{4};
  Network network = testing::network_of({testing::random_layer(dice, 8, 8, 3, 0, 1, 0)});
  Plan plan = testing::unreduced_plan(network);
  ImageSet images = testing::bit_images(dice, 10, 8, 0.5);
};

TEST(Run, BatchesAreEvenAndFitTheMemory) {
  const Small s;
  EXPECT_GT(memory_budget(Device::cpu, {}), std::size_t{1} << 20U);
  const RunResult result = run(variant_with(fits_up_to<4>), s.plan, s.images, options_of(1));
  EXPECT_EQ(result.batch, 4U);  // 10 = 4 + 4 + 2
  EXPECT_EQ(result.outcome.categories, (Categories{0, 2, 4, 6, 8}));
  EXPECT_EQ(result.outcome.alive, std::vector<std::int64_t>{5});
  EXPECT_EQ(run(variant_with(fits_up_to<9>), s.plan, s.images, options_of(1)).batch, 5U);  // two rounds in either case
  EXPECT_THROW(run(variant_with(fits_up_to<0>), s.plan, s.images, options_of(1)), DeviceError);
}

TEST(Run, TrialsMustAgree) {
  const Small s;
  EXPECT_EQ(run(testing::RecordingEngine::variant(), s.plan, s.images, options_of(3)).infer_seconds.size(), 3U);
  EXPECT_NO_THROW(run(variant_of<WaveringEngine>(), s.plan, s.images, options_of(1)));
  EXPECT_THROW(run(variant_of<WaveringEngine>(), s.plan, s.images, options_of(2)), std::logic_error);
}

/// Batches of 8 and 2 images through one layer.
TEST(Run, WarmUpIsRunAsTheTrialsAreButIsNoneOfThem) {
  const Small s;
  RunOptions options = options_of(1, 8);
  options.warm_up = 2;
  testing::RecordingEngine::calls.clear();
  const RunResult result = run(testing::RecordingEngine::variant(), s.plan, s.images, options);
  EXPECT_EQ(result.infer_seconds.size(), 1U);
  EXPECT_GT(result.warm_up_seconds, 0);
  EXPECT_EQ(result.outcome.categories, (Categories{0, 2, 4, 6, 8}));
  const auto& calls = testing::RecordingEngine::calls;
  EXPECT_EQ(std::count(calls.begin(), calls.end(), "reset"), 6);
  EXPECT_EQ(std::count(calls.begin(), calls.end(), "outcome"), 6);
  EXPECT_EQ(std::count(calls.begin(), calls.end(), "load 2"), 1);
}

TEST(Run, WhatAnEngineDoesNotCountIsNotToldOfAnyBatch) {
  const Small s;
  EXPECT_TRUE(run(variant_of<WaveringEngine>(), s.plan, s.images, options_of(1, 4)).outcome.alive.empty());
}

TEST(Run, RefusesWhatDoesNotFit) {
  const Small s;
  const Variant& reference = find_variant("cpu_reference");
  EXPECT_THROW(run(reference, s.plan, s.images, options_of(1)), UsageError);  // fp32
  const ImageSet narrow_images{testing::make_matrix(7, {{{0, 1.0F}}})};
  EXPECT_THROW(run(find_variant("cpu_openmp"), s.plan, narrow_images, options_of(1)), DataError);
}

TEST(Run, WithoutLayersTheLitImagesAreTheCategories) {
  Network network;
  const Plan plan = testing::unreduced_plan(network);
  const ImageSet images{testing::make_matrix(3, {{{0, 1.0F}}, {}, {{2, 1.0F}}})};
  EXPECT_EQ(run(find_variant("cpu_openmp"), plan, images, options_of(1)).outcome.categories, (Categories{0, 2}));
}

/// The network's rows with equal terms added up, and bounds that call `doubtful` everything within them.
Plan merged_plan(const Network& network, double bound) {
  Plan plan = testing::unreduced_plan(network, parse_passes("merge,dead,saturated,identical"));
  plan.passes.merge = false;
  plan.fallback = Fallback{std::vector<double>(plan.depth(), bound), std::make_shared<const Plan>(plan)};
  plan.passes.merge = true;
  for (Layer& layer : plan.layers) {
    testing::Rows rows(layer.outputs());
    for (Index j = 0; j < layer.outputs(); ++j) {
      for (Offset k = layer.weights.offsets[j]; k < layer.weights.offsets[j + 1]; ++k) {
        const Index input = layer.weights.indices[k];
        const auto same = std::find_if(rows[j].begin(), rows[j].end(), [&](const auto& t) { return t.first == input; });
        if (same != rows[j].end())
          same->second += layer.weights.entry_value(k);
        else
          rows[j].emplace_back(input, layer.weights.entry_value(k));
      }
    }
    layer.weights = testing::make_matrix(layer.inputs(), rows);
  }
  return plan;
}

Network network_with_repeated_terms() {
  testing::Dice dice(6);
  Network network;
  for (int k = 0; k < 12; ++k) {
    testing::Rows rows = testing::random_rows(dice, 40, 40, 4, 0.15, 0.15);
    for (auto& row : rows) row.insert(row.end(), {row[0], row[1], row[0], row[2]});
    network.layers.push_back(testing::make_layer(40, rows, -0.2));
  }
  return network;
}

TEST(Run, BorderlineImagesAreRunInOrder) {
  const Network network = network_with_repeated_terms();
  testing::Dice dice(9);
  const ImageSet images = testing::bit_images(dice, 300, 40, 0.5);
  const Plan in_order = testing::unreduced_plan(network, parse_passes("dead"));
  const Variant& openmp = find_variant("cpu_openmp");
  const RunResult expected = run(openmp, in_order, images, options_of(1));
  ASSERT_GT(expected.outcome.categories.size(), 20U);
  ASSERT_LT(expected.outcome.categories.size(), 250U);
  for (const double bound : {1e-5, 0.02, 0.2, 100.0}) {
    for (const Index batch : {300U, 70U}) {
      const Plan merged = merged_plan(network, bound);
      const RunResult result = run(openmp, merged, images, options_of(2, batch));
      EXPECT_EQ(result.outcome.categories, expected.outcome.categories) << "bound " << bound;
      EXPECT_EQ(result.outcome.alive, expected.outcome.alive) << "bound " << bound;
      EXPECT_EQ(result.outcome.borderline.empty(), bound < 0.02) << "bound " << bound;
      EXPECT_EQ(result.outcome.borderline.size() == 300, bound == 100.0) << "bound " << bound;
    }
  }
}

TEST(Run, ImagesBeyondTheBoundsAreNotMerged) {
  const Network network = network_with_repeated_terms();
  const Plan merged = merged_plan(network, 100.0);
  const Variant& openmp = find_variant("cpu_openmp");
  const auto borderline = [&](float value, bool uniform) {
    testing::Rows rows(5);
    for (Index i = 0; i < 5; ++i) rows[i].emplace_back(i, uniform || i == 3 ? value : 1.0F);
    const RunResult result = run(openmp, merged, {testing::make_matrix(40, rows, uniform)}, options_of(1));
    EXPECT_EQ(result.plan->passes.merge, result.notes.empty());
    EXPECT_EQ(result.plan, result.notes.empty() ? &merged : merged.fallback->in_order.get());
    return result.outcome.borderline.size();
  };
  for (const bool uniform : {false, true}) {
    for (const float inside : {0.5F, 1.0F}) EXPECT_EQ(borderline(inside, uniform), 5U) << inside;
    for (const float outside : {1.5F, -0.25F}) EXPECT_EQ(borderline(outside, uniform), 0U) << outside;
  }
}

TEST(Run, ABatchOfAMergedPlanHasRoomForTheImagesThatAreRunAgain) {
  const Small s;
  Plan merged = s.plan;
  merged.fallback = Fallback{{}, std::make_shared<const Plan>(s.plan)};
  const auto room_for_four = [](const Plan& plan, const BatchInfo& batch, const EngineOptions& options) {
    return plan.fallback ? Support{.working_bytes = 1} : fits_up_to<4>(plan, batch, options);
  };
  EXPECT_EQ(automatic_batch(variant_with(room_for_four), merged, {10, true, true}, {}), 4U);
}

/// Takes its time over a layer, and knows how much that was.
class SlowEngine final : public Engine {
 public:
  static inline double seconds = 0;  ///< in advance(), of all engines
  void load(const ImageSet& images) override { images_ = images.images(); }
  void reset() override {}
  Index advance(Index /*first*/, Index until) override {
    const Stopwatch watch;
    while (watch.seconds() < 1e-3) continue;
    seconds += watch.seconds();
    return until;
  }
  Outcome outcome() override { return {.categories = {}, .alive = {images_}, .borderline = {}}; }

 private:
  Index images_ = 0;
};

TEST(Run, TheTimesOfAllBatchesAddUp) {
  const Small s;
  SlowEngine::seconds = 0;
  const RunResult result = run(variant_of<SlowEngine>(), s.plan, s.images, options_of(2, 3));
  EXPECT_EQ(result.outcome.alive, std::vector<std::int64_t>{10});
  ASSERT_EQ(result.infer_seconds.size(), 2U);
  EXPECT_GE(result.infer_seconds[0] + result.infer_seconds[1], SlowEngine::seconds);
}

}  // namespace
}  // namespace spdnn
