// The one loop: batches from the memory at hand, trials that must agree, merged plans with borderline images.

#include "inference/run/run.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "core/system/stopwatch.hpp"
#include "core/threads/parallel.hpp"
#include "core/types/counted_csr.hpp"
#include "engines/devices.hpp"
#include "inference/device/engine_choice.hpp"
#include "inference/run/largest_batch.hpp"
#include "plan/planner.hpp"
#include "spdnn/error.hpp"
#include "support/battery.hpp"
#include "support/equal.hpp"
#include "support/message_of.hpp"
#include "support/recording_engine.hpp"

namespace spdnn {
namespace {

using testing::Case;

RunOptions run_options(int trials, Index batch = 0) {
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

/// An engine that records its calls.
class EagerEngine final : public Engine {
 public:
  static inline std::vector<std::string> steps;
  void load(const ImageSet& /*images*/) override {}
  void reset() override {}
  Index advance(Index first, Index until) override {
    steps.push_back(std::to_string(first) + ".." + std::to_string(until));
    return until;
  }
  Outcome outcome() override { return {}; }
};

/// Batches of up to `most` images take one byte, larger ones more than the machine has.
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
  testing::Rng rng{4};
  Network network = testing::network_of({testing::random_layer(rng, 8, 8, 3, 0, 1, 0)});
  Plan plan = testing::unreduced_plan(network);
  ImageSet images = testing::bit_images(rng, 10, 8, 0.5);
};

TEST(Run, BatchesAreEvenAndFitTheMemory) {
  const Small s;
  EXPECT_GT(memory_budget(Device::cpu, {}), std::size_t{1} << 20U);
  const RunResult result = run(variant_with(fits_up_to<4>), s.plan, s.images, run_options(1));
  EXPECT_EQ(result.batch, 4U);  // 10 = 4 + 4 + 2
  EXPECT_EQ(result.outcome.categories, (Categories{0, 2, 4, 6, 8}));
  EXPECT_EQ(result.outcome.alive, std::vector<std::int64_t>{5});
  EXPECT_EQ(run(variant_with(fits_up_to<9>), s.plan, s.images, run_options(1)).batch, 5U);  // two rounds in either case
  EXPECT_THROW(run(variant_with(fits_up_to<0>), s.plan, s.images, run_options(1)), DeviceError);
  EXPECT_EQ(automatic_batch(variant_with(fits_up_to<4>), s.plan, {0, true, true}, {}), 0U) << "of no images";
}

TEST(LargestBatch, FitsToTheByteInNoMoreRoundsThanItMust) {
  const auto bytes = [](Index batch) { return std::size_t{100} * batch + 7; };
  EXPECT_EQ(largest_batch(64, 64, 6407, bytes), 64U);
  EXPECT_EQ(largest_batch(64, 64, 6406, bytes), 32U) << "63 fit, and so do two rounds of 32";
  EXPECT_EQ(largest_batch(64, 630, 6307, bytes), 63U);
  EXPECT_EQ(largest_batch(64, 640, 6406, bytes), 59U) << "63 fit: eleven rounds";
  EXPECT_EQ(largest_batch(64, 64, 107, bytes), 1U);
  EXPECT_EQ(largest_batch(64, 64, 106, bytes), 0U);
}

/// An image takes 100 bytes on each thread.
Support by_threads(const Plan&, const BatchInfo& batch, const EngineOptions& options) {
  return {.working_bytes = std::size_t{100} * static_cast<std::size_t>(host_threads(options.threads)) * batch.images};
}

std::string refusal_of(const Plan& plan, int threads, std::size_t host_memory) {
  EngineOptions options;
  options.threads = threads;
  options.host_memory = host_memory;
  try {
    automatic_batch(variant_with(by_threads), plan, {10, true, true}, options);
  } catch (const DeviceError& error) {
    return error.what();
  }
  return "none";
}

TEST(Run, WhereNoImageFitsFewerThreadsAreProposedIfTheyWould) {
  const Small s;
  EXPECT_EQ(refusal_of(s.plan, 8, 800), "none");
  EXPECT_EQ(
      refusal_of(s.plan, 8, 799),
      "recording needs 800 bytes for a single image, but 799 bytes are left for it; with --threads 7 it needs 700 "
      "bytes");
  EXPECT_EQ(
      refusal_of(s.plan, 8, 100),
      "recording needs 800 bytes for a single image, but 100 bytes are left for it; with --threads 1 it needs 100 "
      "bytes");
  EXPECT_EQ(refusal_of(s.plan, 8, 99), "recording needs 800 bytes for a single image, but 99 bytes are left for it");
  EXPECT_EQ(refusal_of(s.plan, 8, 1), "recording needs 800 bytes for a single image, but nothing is left for it");
}

/// The engine takes ten bytes, or a hundred for each image: as many as are asked for, but no more than there are.
TEST(Run, IsCheckedForTheImagesAtATimeThatItWouldTake) {
  const Small s;
  const auto fits = [&](Index batch, std::size_t host_memory) {
    RunOptions options = run_options(1, batch);
    options.engine.threads = 1;
    options.engine.host_memory = host_memory;
    try {
      check_run(variant_with(by_threads), s.plan, facts_of(s.images), options);
    } catch (const DeviceError&) {
      return false;
    }
    return true;
  };
  EXPECT_TRUE(fits(0, 100));
  EXPECT_FALSE(fits(0, 99));
  static Index asked = 0;
  const Variant asking = variant_with([](const Plan&, const BatchInfo& batch, const EngineOptions&) {
    asked = batch.images;
    return Support{};
  });
  for (const auto& [batch, images] : {std::pair{7U, 7U}, {10U, 10U}, {11U, 10U}}) {
    check_run(asking, s.plan, facts_of(s.images), run_options(1, batch));
    EXPECT_EQ(asked, images) << batch;
  }
}

/// Ends a run at the `question`-th question when that is due.
class EndAt final : public Interruption {
 public:
  explicit EndAt(int question) : question_(question) {}
  double due_in() override { return ++asked_ >= question_ ? 0 : 1e9; }
  bool interrupt(InterruptedRun& run) override {
    left_ = run.result().unfinished->layer;
    return false;
  }
  Index left() const { return left_; }

 private:
  int question_;
  int asked_ = 0;
  Index left_ = 0;
};

/// The calls to advance an engine of a CPU through 200 layers, until the `question`-th question.
std::vector<std::string> steps_until(int question, double look_seconds) {
  testing::Rng rng(4);
  const Plan plan = testing::unreduced_plan(testing::random_network(rng, 8, 200, 3, 0));
  RunOptions options = run_options(1);
  EndAt end(question);
  options.interruption = &end;
  options.look_seconds = look_seconds;
  const Variant variant = variant_of<EagerEngine>();
  EagerEngine::steps.clear();
  const RunResult result = run(variant, plan, testing::bit_images(rng, 10, 8, 0.5), options);
  EXPECT_TRUE(result.unfinished && result.unfinished->layer == end.left());
  return EagerEngine::steps;
}

TEST(Run, WhereLayersTakeLongAnInterruptionIsNoticedAfterEachOfThem) {
  EXPECT_EQ(steps_until(4, 0), (std::vector<std::string>{"0..1", "1..2", "2..3"}));
}

TEST(Run, WhereLayersTakeLittleAnInterruptionIsNoticedSomeDozenTimesABatch) {
  EXPECT_EQ(steps_until(6, 1e9), (std::vector<std::string>{"0..1", "1..3", "3..7", "7..13", "13..19"}));
}

/// Interrupts a run at every chance, and lets it go on.
class Often final : public Interruption {
 public:
  double due_in() override { return 0; }
  bool interrupt(InterruptedRun& run) override {
    const RunResult so_far = run.result();
    seen.emplace_back(so_far.unfinished->first, so_far.unfinished->layer);
    categories.push_back(so_far.outcome.categories.size());
    begun.push_back(so_far.unfinished->begun.images());
    seconds = so_far.infer_seconds.front();
    return true;
  }
  std::vector<std::pair<Index, Index>> seen;  ///< image and layer
  std::vector<std::size_t> categories;
  std::vector<Index> begun;
  double seconds = 0;
};

/// What engines were made for.
struct Made {
  static inline std::vector<EngineOptions> options;
  static inline std::vector<BatchInfo> batches;
  static Variant variant() {
    Variant variant = testing::RecordingEngine::variant();
    variant.precisions = {Precision::fp32, Precision::fp64};
    variant.make = [](std::shared_ptr<const Plan> plan, const BatchInfo& batch,
                      const EngineOptions& options) -> std::unique_ptr<Engine> {
      Made::options.push_back(options);
      Made::batches.push_back(batch);
      return testing::RecordingEngine::variant().make(std::move(plan), batch, options);
    };
    return variant;
  }
};

TEST(Run, AnEngineIsToldWhetherSumsMayOverflowAndWhetherItIsInterrupted) {
  const Small s;
  const Variant variant = Made::variant();
  for (const bool may_overflow : {false, true})
    for (const bool interrupted : {false, true}) {
      Made::options.clear();
      RunOptions options = run_options(1);
      Often often;
      if (interrupted) options.interruption = &often;
      run(variant, RunPlan{&s.plan, may_overflow, {}}, s.images, options);
      ASSERT_EQ(Made::options.size(), 1U);
      EXPECT_EQ(Made::options[0].may_overflow, may_overflow);
      EXPECT_EQ(Made::options[0].in_steps, interrupted);
    }
}

/// Bits, numbers that are 0 or 1, and other numbers; other precisions, plans and sizes.
TEST(Run, AnEngineStaysForImagesOfItsKindAlone) {
  const Small s;
  const Variant variant = Made::variant();
  const Plan other = testing::unreduced_plan(s.network);
  const ImageSet ones{testing::make_matrix(8, testing::Rows(10, {{1, 1.F}}))};
  const ImageSet numbers{testing::make_matrix(8, testing::Rows(10, {{1, 0.5F}}))};
  KeptEngines kept;
  RunOptions options = run_options(1, 10);
  options.kept = &kept;
  const auto makes = [&](const Plan& plan, const ImageSet& images, bool may_overflow = false) {
    Made::options.clear();
    run(variant, RunPlan{&plan, may_overflow, {}}, images, options);
    return Made::options.size();
  };
  EXPECT_EQ(makes(s.plan, s.images), 1U);
  EXPECT_EQ(makes(s.plan, s.images), 0U);
  EXPECT_EQ(makes(s.plan, ones), 1U) << "no bits";
  EXPECT_EQ(makes(s.plan, ones), 0U);
  EXPECT_EQ(makes(s.plan, numbers), 1U) << "not binary";
  EXPECT_EQ(makes(s.plan, numbers), 0U);
  EXPECT_EQ(makes(s.plan, numbers, true), 1U) << "sums may overflow";
  EXPECT_EQ(makes(other, numbers, true), 1U) << "another plan";
  options.engine.precision = Precision::fp64;
  EXPECT_EQ(makes(other, numbers, true), 1U) << "another precision";
  EXPECT_EQ(makes(other, numbers, true), 0U);
  const Variant same = variant;
  Made::options.clear();
  run(same, RunPlan{&other, true, {}}, numbers, options);
  EXPECT_EQ(Made::options.size(), 1U) << "another variant";
}

/// A counter's largest part is what the engine is made for.
class ACounter final : public BatchSource {
 public:
  Index largest(Index least) const override { return least + 5; }
  ImageRange take(const Wish& wish) override {
    least = wish.least;
    return {};
  }
  Index take_part(Index parts) override { return parts; }
  void restart() override {}
  int sharers() const override { return 2; }
  Index least = 0;
};

TEST(Run, BesideOtherProcessesABatchIsAsLargeAsTheLargestThatIsTaken) {
  const Small s;
  RunOptions options = run_options(1);
  ACounter counter;
  options.batches = &counter;
  const Index batch = run(Made::variant(), s.plan, s.images, options).batch;
  EXPECT_EQ(batch, counter.least + 5);
  EXPECT_EQ(counter.least, kDealtBlock * static_cast<Index>(host_threads(options.engine.threads)));
}

/// cpu_openmp as an engine on a device that has memory for copies.
class CopyingEngine final : public InspectableEngine {
 public:
  explicit CopyingEngine(std::unique_ptr<Engine> engine)
      : engine_(std::move(engine)), inspectable_(dynamic_cast<InspectableEngine&>(*engine_)) {}

  void load(const ImageSet& images) override { engine_->load(images); }
  void reset() override { engine_->reset(); }
  Index advance(Index first, Index until) override { return engine_->advance(first, until); }
  Outcome outcome() override { return engine_->outcome(); }
  std::vector<double> activations() override { return inspectable_.activations(); }
  std::unique_ptr<ActivationsCopy> copy_activations() override {
    return std::make_unique<Copy>(*inspectable_.sparse_activations(CountedCsr::kUnlimited));
  }

  static Variant variant() {
    Variant variant = find_variant("cpu_openmp");
    variant.make = [](std::shared_ptr<const Plan> plan, const BatchInfo& batch,
                      const EngineOptions& options) -> std::unique_ptr<Engine> {
      return std::make_unique<CopyingEngine>(make_engine(find_variant("cpu_openmp"), std::move(plan), batch, options));
    };
    return variant;
  }

 private:
  class Copy final : public ActivationsCopy {
   public:
    explicit Copy(CsrMatrix rows) : rows_(std::move(rows)) {}
    CsrMatrix read(std::size_t most) const override {
      if (rows_.bytes() > most) throw std::bad_alloc();
      return rows_;
    }

   private:
    CsrMatrix rows_;
  };

  std::unique_ptr<Engine> engine_;
  InspectableEngine& inspectable_;
};

/// Interrupts a run at every chance, and asks for its results at once and later.
class NowAndLater final : public Interruption {
 public:
  double due_in() override { return 0; }
  bool interrupt(InterruptedRun& run) override {
    now.push_back(run.result());
    later.push_back(run.result_beside());
    return true;
  }
  std::vector<RunResult> now;
  std::vector<std::function<RunResult()>> later;
};

TEST(Run, AnInterruptedRunsResultFromCopiesIsThatOfTheMoment) {
  testing::Rng rng(4);
  const Plan plan = testing::unreduced_plan(testing::random_network(rng, 64, 4, 8, 0.0));
  const ImageSet images = testing::bit_images(rng, 10, 64, 0.5);
  RunOptions options = run_options(1, 6);
  NowAndLater taken;
  options.interruption = &taken;
  const RunResult result = run(CopyingEngine::variant(), plan, images, options);
  EXPECT_FALSE(result.unfinished);
  ASSERT_EQ(taken.now.size(), 8U);
  for (std::size_t i = 0; i < taken.now.size(); ++i) {
    ASSERT_EQ(static_cast<bool>(taken.later[i]), i % 4 != 0) << "before the first layer there is nothing to copy";
    if (!taken.later[i]) continue;
    const RunResult later = taken.later[i]();
    EXPECT_EQ(later.unfinished->first, taken.now[i].unfinished->first);
    EXPECT_EQ(later.unfinished->layer, taken.now[i].unfinished->layer);
    EXPECT_EQ(later.outcome.categories, taken.now[i].outcome.categories);
    EXPECT_EQ(later.unfinished->begun.images(), i < 4 ? 6U : 4U);
    testing::expect_equal(later.unfinished->begun.to_csr(), taken.now[i].unfinished->begun.to_csr());
  }
}

TEST(Run, AnInterruptedRunsResultIsNoCopyWhereTheEngineMakesNone) {
  testing::Rng rng(4);
  const Plan plan = testing::unreduced_plan(testing::random_network(rng, 64, 4, 8, 0.0));
  RunOptions options = run_options(1);
  NowAndLater taken;
  options.interruption = &taken;
  run(find_variant("cpu_openmp"), plan, testing::bit_images(rng, 10, 64, 0.5), options);
  ASSERT_EQ(taken.later.size(), 4U);
  for (const auto& later : taken.later) EXPECT_FALSE(later);
}

TEST(Run, AnInterruptedRunGoesOnWithTheSameEngineAndResult) {
  testing::Rng rng(4);
  const Plan plan = testing::unreduced_plan(testing::random_network(rng, 64, 4, 8, 0.0));
  const ImageSet images = testing::bit_images(rng, 10, 64, 0.5);
  for (const char* const name : {"cpu_openmp", "cpu_reference"}) {
    const Variant& variant = find_variant(name);
    RunOptions options = run_options(1, 6);
    options.engine.precision = variant.precisions.front();
    const RunResult expected = run(variant, plan, images, options);
    Often often;
    options.interruption = &often;
    const RunResult result = run(variant, plan, images, options);
    EXPECT_FALSE(result.unfinished);
    EXPECT_EQ(result.outcome.categories, expected.outcome.categories);
    EXPECT_EQ(result.outcome.alive, expected.outcome.alive);
    EXPECT_EQ(result.outcome.active, expected.outcome.active);
    EXPECT_EQ(often.seen,
              (std::vector<std::pair<Index, Index>>{{0, 0}, {0, 1}, {0, 2}, {0, 3}, {6, 0}, {6, 1}, {6, 2}, {6, 3}}));
    EXPECT_GT(often.categories.back(), 0U) << "of the batch before";
    EXPECT_EQ(often.categories.front(), 0U);
    // fp64 activations are not kept.
    const bool kept = variant.precisions.front() == Precision::fp32;
    const Index first = kept ? 6 : 0;
    const Index second = kept ? 4 : 0;
    EXPECT_EQ(often.begun, (std::vector<Index>{0, first, first, first, 0, second, second, second}));
    EXPECT_GT(often.seconds, 0.0);
    EXPECT_GE(result.infer_seconds.front(), often.seconds);
    EXPECT_GT(result.interrupted_seconds, 0.0);
  }
}

/// Whether a run keeps the activations of 1000 images x 4096 neurons, nearly all of them zero, with that many bytes of
/// memory for them.
bool hands_on(const char* variant, std::size_t bytes, float weight = 1) {
  constexpr Index kNeurons = 4096;
  std::vector<Offset> one_edge(kNeurons + 1, 1);
  one_edge.front() = 0;
  const Layer layer{make_csr(kNeurons, kNeurons, one_edge, {0}, {weight}), {}};
  const Plan plan = testing::unreduced_plan({{layer, layer}, BiasRule::non_zeros, {}});
  std::vector<Offset> one_each(1001);
  std::iota(one_each.begin(), one_each.end(), Offset{0});
  const ImageSet images{make_csr(1000, kNeurons, one_each, std::vector<Index>(1000, 0))};
  RunOptions options = run_options(1, 1000);
  options.engine.sharers = static_cast<int>(memory_budget(Device::cpu, {}) / bytes);
  Often often;
  options.interruption = &often;
  run(find_variant(variant), plan, images, options);
  return often.begun.back() == 1000;
}

TEST(Run, ActivationsAreHandedOnWhereThereIsRoomForThoseThatAreNotZero) {
  EXPECT_TRUE(hands_on("cpu_openmp", 1U << 20U)) << "16 KB";
  EXPECT_FALSE(hands_on("cpu_openmp", 1U << 12U));
  EXPECT_FALSE(hands_on("cpu_openmp", 1U << 20U, 1e30F)) << "which layer overflowed first, later layers do not tell";
}

TEST(Run, TrialsMustAgree) {
  const Small s;
  EXPECT_EQ(run(testing::RecordingEngine::variant(), s.plan, s.images, run_options(3)).infer_seconds.size(), 3U);
  EXPECT_NO_THROW(run(variant_of<WaveringEngine>(), s.plan, s.images, run_options(1)));
  EXPECT_THROW(run(variant_of<WaveringEngine>(), s.plan, s.images, run_options(2)), std::logic_error);
}

/// Batches of 8 and 2 images through one layer.
TEST(Run, WarmUpIsRunAsTheTrialsAreButIsNoneOfThem) {
  const Small s;
  RunOptions options = run_options(1, 8);
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
  EXPECT_TRUE(run(variant_of<WaveringEngine>(), s.plan, s.images, run_options(1, 4)).outcome.alive.empty());
}

TEST(Run, ABiasOrCapThatFp32DoesNotHoldIsRefusedWithItsLayer) {
  const auto refusal = [](double bias, std::optional<double> cap, const char* variant) {
    Layer last = testing::make_layer(2, {{{0, 1.0F}}, {{0, 1.0F}}, {{1, 1.0F}}}, 0);
    last.bias.values = std::vector<double>{-0.25, bias, 0.5};
    const Network network{.layers = {testing::make_layer(2, {{{0, 1.0F}}, {{1, 1.0F}}}, -0.25), std::move(last)},
                          .cap = cap};
    return testing::message_of<UsageError>([&] {
      choose_engine(EngineRequest{.variant = variant, .device = {}, .network = "n"}, make_plan(network, {}),
                    BatchInfo{1, true, true}, EngineOptions{});
    });
  };
  EXPECT_EQ(refusal(-1e39, 32, "cpu_openmp"), "precision: n: layer 2: a bias of -1e+39 is beyond fp32; expected fp64");
  EXPECT_EQ(refusal(1e39, 32, "cpu_openmp"), "precision: n: layer 2: a bias of 1e+39 is beyond fp32; expected fp64");
  EXPECT_EQ(refusal(-1e-50, 32, "cpu_openmp"), "precision: n: layer 2: a bias of -1e-50 is 0 in fp32; expected fp64");
  EXPECT_EQ(refusal(0, 1e-50, "cpu_openmp"), "precision: n: a cap of 1e-50 is 0 in fp32; expected fp64");
  EXPECT_EQ(refusal(-1e39, 32, "cpu_reference"), "no error");
}

/// Of layers that are streamed the least and the greatest bias are known.
TEST(Run, ABiasOfAStreamThatFp32DoesNotHoldIsRefusedWithItsLayer) {
  class NoLayers final : public LayerStream {
   public:
    using LayerStream::LayerStream;
    Layer read(Index /*k*/) const override { throw std::logic_error("layers are not read"); }
  };
  const auto refusal = [](double least, double most) {
    std::vector<LayerBounds> bounds(2);
    bounds[1] = {.absolute = 1, .terms = 1, .least_bias = least, .most_bias = most};
    Plan plan;
    plan.streamed = std::make_shared<const StreamedLayers>(
        StreamedLayers{std::make_shared<const NoLayers>(std::vector<LayerShape>(2)), bounds, 2});
    plan.expansion.resize(2);
    return testing::message_of<UsageError>([&] {
      choose_engine(EngineRequest{.variant = "cpu_openmp", .device = {}}, plan, BatchInfo{1, true, true},
                    EngineOptions{});
    });
  };
  EXPECT_EQ(refusal(-1, 1), "no error");
  EXPECT_EQ(refusal(-1e39, 0), "precision: layer 2: a bias of -1e+39 is beyond fp32; expected fp64");
  EXPECT_EQ(refusal(0, 1e39), "precision: layer 2: a bias of 1e+39 is beyond fp32; expected fp64");
}

TEST(Run, RefusesWhatDoesNotFit) {
  const Small s;
  const Variant& reference = find_variant("cpu_reference");
  EXPECT_THROW(run(reference, s.plan, s.images, run_options(1)), UsageError);  // fp32
  const ImageSet narrow_images{testing::make_matrix(7, {{{0, 1.0F}}})};
  EXPECT_THROW(run(find_variant("cpu_openmp"), s.plan, narrow_images, run_options(1)), DataError);
}

TEST(Run, WithoutLayersTheLitImagesAreTheCategories) {
  Network network;
  const Plan plan = testing::unreduced_plan(network);
  const ImageSet images{testing::make_matrix(3, {{{0, 1.0F}}, {}, {{2, 1.0F}}})};
  EXPECT_EQ(run(find_variant("cpu_openmp"), plan, images, run_options(1)).outcome.categories, (Categories{0, 2}));
}

/// The network's rows with equal terms added up, and error bounds of `bound`.
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
  testing::Rng rng(6);
  Network network;
  for (int k = 0; k < 12; ++k) {
    testing::Rows rows = testing::random_rows(rng, 40, 40, 4, 0.15, 0.15);
    for (auto& row : rows) row.insert(row.end(), {row[0], row[1], row[0], row[2]});
    network.layers.push_back(testing::make_layer(40, rows, -0.2));
  }
  return network;
}

TEST(Run, BorderlineImagesAreRunInOrder) {
  const Network network = network_with_repeated_terms();
  testing::Rng rng(9);
  const ImageSet images = testing::bit_images(rng, 300, 40, 0.5);
  const Plan in_order = testing::unreduced_plan(network, parse_passes("dead"));
  const Variant& openmp = find_variant("cpu_openmp");
  const RunResult expected = run(openmp, in_order, images, run_options(1));
  ASSERT_GT(expected.outcome.categories.size(), 20U);
  ASSERT_LT(expected.outcome.categories.size(), 250U);
  for (const double bound : {1e-5, 0.02, 0.2, 100.0}) {
    for (const Index batch : {300U, 70U}) {
      const Plan merged = merged_plan(network, bound);
      const RunResult result = run(openmp, merged, images, run_options(2, batch));
      EXPECT_EQ(result.outcome.categories, expected.outcome.categories) << "bound " << bound;
      EXPECT_EQ(result.outcome.alive, expected.outcome.alive) << "bound " << bound;
      EXPECT_EQ(result.outcome.borderline.empty(), bound < 0.02) << "bound " << bound;
      EXPECT_EQ(result.outcome.borderline.size() == 300, bound == 100.0) << "bound " << bound;
    }
  }
}

TEST(Run, CopiesOfBorderlineImagesAreCountedOnceInEveryLayer) {
  const Network network = network_with_repeated_terms();
  testing::Rng rng(9);
  const ImageSet various = testing::bit_images(rng, 300, 40, 0.5);
  const Variant& openmp = find_variant("cpu_openmp");
  const Plan in_order = testing::unreduced_plan(network, parse_passes("dead"));
  const Categories alive = run(openmp, in_order, various, run_options(1)).outcome.categories;
  ASSERT_GT(alive.size(), 3U);
  std::vector<Index> copies;  // in one tile, where they are found to be equal before they become borderline
  for (std::size_t i = 0; i < 16; ++i) copies.push_back(i % 5 < 3 ? alive[i % 5] : static_cast<Index>(i % 5));
  const ImageSet images = various.select(copies);
  const Outcome expected = run(openmp, in_order, images, run_options(1)).outcome;
  ASSERT_FALSE(expected.categories.empty());
  Plan merged = merged_plan(network, 1e-5);
  std::fill(merged.fallback->error_bounds.begin() + 8, merged.fallback->error_bounds.end(), 100.0);
  const Outcome found = run(openmp, merged, images, run_options(1)).outcome;
  EXPECT_GE(found.borderline.size(), expected.categories.size());
  EXPECT_GT(found.identical, 0);
  EXPECT_EQ(found.categories, expected.categories);
  EXPECT_EQ(found.alive, expected.alive);
}

TEST(Run, ImagesBeyondTheBoundsAreNotMerged) {
  const Network network = network_with_repeated_terms();
  const Plan merged = merged_plan(network, 100.0);
  const Variant& openmp = find_variant("cpu_openmp");
  const auto borderline = [&](float value, bool uniform) {
    testing::Rows rows(5);
    for (Index i = 0; i < 5; ++i) rows[i].emplace_back(i, uniform || i == 3 ? value : 1.0F);
    const RunResult result = run(openmp, merged, {testing::make_matrix(40, rows, uniform)}, run_options(1));
    EXPECT_EQ(result.plan->passes.merge, result.notes.empty());
    EXPECT_EQ(result.plan, result.notes.empty() ? &merged : merged.fallback->in_order.get());
    return result.outcome.borderline.size();
  };
  for (const bool uniform : {false, true}) {
    for (const float inside : {0.5F, 1.0F}) EXPECT_EQ(borderline(inside, uniform), 5U) << inside;
    for (const float outside : {1.5F, -0.25F}) EXPECT_EQ(borderline(outside, uniform), 0U) << outside;
  }
}

/// Its bounds begin with the first layer, so that a run that goes on begins there, too.
TEST(Run, ActivationsOfAMergedPlanAreNotHandedOn) {
  const Network network = network_with_repeated_terms();
  testing::Rng rng(9);
  const Plan merged = merged_plan(network, 1e-5);
  Often often;
  RunOptions options = run_options(1);
  options.interruption = &often;
  EXPECT_TRUE(run(find_variant("cpu_openmp"), merged, testing::bit_images(rng, 30, 40, 0.5), options).plan == &merged);
  EXPECT_EQ(often.begun, std::vector<Index>(merged.depth(), 0));
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

/// An engine whose layers take time, which it measures.
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
  const RunResult result = run(variant_of<SlowEngine>(), s.plan, s.images, run_options(2, 3));
  EXPECT_EQ(result.outcome.alive, std::vector<std::int64_t>{10});
  ASSERT_EQ(result.infer_seconds.size(), 2U);
  EXPECT_GE(result.infer_seconds[0] + result.infer_seconds[1], SlowEngine::seconds);
}

}  // namespace
}  // namespace spdnn
