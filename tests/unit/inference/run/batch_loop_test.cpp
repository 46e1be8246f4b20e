// The loop of batches and trials, without an engine: the batches after memory has run out, and their times.

#include "inference/run/batch_loop.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <thread>
#include <utility>

#include "core/system/out_of_memory.hpp"
#include "inference/model/run.hpp"
#include "support/models.hpp"

namespace spdnn {
namespace {

/// Has room for a number of images, by purpose; records the gathered images and the trials.
class LittleRoom final : public Runnable {
 public:
  Index to_make = kMaxIndex;
  Index to_load = kMaxIndex;
  Index to_repeat = kMaxIndex;                           ///< for the trials after the first
  static constexpr std::chrono::milliseconds kTime{50};  ///< of making, and of such a trial before memory runs out
  std::vector<Index> made;
  std::vector<ImageRange> gathered;
  int kept = 0;

  void make(Index batch) override {
    made.push_back(batch);
    std::this_thread::sleep_for(kTime);
    if (batch > to_make) throw std::bad_alloc();
  }
  void load(const ImageRange& images) override {
    loaded_ = images.count;
    if (loaded_ > to_load) throw OutOfMemory("out of device memory");
  }
  void reset() override {}
  Index advance(Index /*first*/, Index until) override {
    if (loaded_ > to_repeat) std::this_thread::sleep_for(4 * kTime);
    return until;
  }
  void finish() override {}
  void keep(int trial) override {
    ++kept;
    if (trial == 0 || loaded_ <= to_repeat) return;
    std::this_thread::sleep_for(kTime);
    throw std::bad_alloc();
  }
  void gather(const ImageRange& images) override { gathered.push_back(images); }

 private:
  Index loaded_ = 0;
};

LoopResult run_all(LittleRoom& room, Index images, const LoopOptions& options) {
  LoopResult result;
  result.batch = images;
  run_in_batches(room, {.images = images, .steps = 4}, options, result);
  return result;
}

std::vector<Index> counts(const std::vector<ImageRange>& ranges) {
  std::vector<Index> counts;
  Index next = 0;
  for (const ImageRange& range : ranges) {
    EXPECT_EQ(range.first, next);
    next += range.count;
    counts.push_back(range.count);
  }
  return counts;
}

TEST(BatchLoop, ABatchThatMemoryDoesNotTakeIsBegunAgainInHalves) {
  LittleRoom room;
  room.to_make = 6;
  room.to_load = 3;
  const LoopResult result = run_all(room, 10, {});
  EXPECT_EQ(room.made, (std::vector<Index>{10, 5, 3}));
  EXPECT_EQ(counts(room.gathered), (std::vector<Index>{3, 2, 3, 2}));
  EXPECT_EQ(counts(result.batches), (std::vector<Index>{3, 2, 3, 2}));
  EXPECT_EQ(result.batch, 3U);
  ASSERT_EQ(result.notes.size(), 2U);
  EXPECT_EQ(result.notes[0], "memory ran out with 10 images at a time; from there on at most 5 at a time");
}

/// Takes a millisecond for each of its calls but reset and finish.
class Slow final : public Runnable {
 public:
  static constexpr double kSeconds = 0.001;
  void make(Index /*batch*/) override { wait(); }
  void load(const ImageRange& /*images*/) override { wait(); }
  void reset() override {}
  Index advance(Index /*first*/, Index until) override {
    wait();
    return until;
  }
  void finish() override {}
  void keep(int /*trial*/) override { wait(); }
  void gather(const ImageRange& /*images*/) override { wait(); }

 private:
  static void wait() { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }
};

TEST(BatchLoop, TimesAreThoseOfAllBatches) {
  Slow slow;
  LoopOptions options;
  options.batch = 2;
  options.warm_up = 2;
  options.trials = 3;
  Offset total = 0;
  Offset done = 0;
  options.progress = [&](const ProgressUpdate& update) { total = update.total, done = update.done; };
  LoopResult result;
  result.batch = 2;
  run_in_batches(slow, {.images = 5, .steps = 4}, options, result);  // three batches
  EXPECT_EQ(total, 3U * 5 * 4);
  EXPECT_EQ(done, total);
  EXPECT_GE(result.load_seconds, 3 * Slow::kSeconds);
  EXPECT_GE(result.upload_seconds, result.load_seconds + Slow::kSeconds);
  EXPECT_GE(result.warm_up_seconds, 3 * 2 * Slow::kSeconds);
  ASSERT_EQ(result.infer_seconds.size(), 3U);
  for (const double seconds : result.infer_seconds) EXPECT_GE(seconds, 3 * Slow::kSeconds);
  EXPECT_GE(result.gather_seconds, (3 * 3 + 3) * Slow::kSeconds) << "trials kept, and batches gathered";
  EXPECT_EQ(result.interrupted_seconds, 0);
}

TEST(BatchLoop, ATrialThatFailedCountsNoTimeOfInfer) {
  LittleRoom room;
  room.to_repeat = 5;
  LoopOptions options;
  options.trials = 2;
  const LoopResult result = run_all(room, 10, options);
  EXPECT_EQ(counts(room.gathered), (std::vector<Index>{5, 5}));
  EXPECT_EQ(room.kept, 6) << "two of the batch that failed";
  EXPECT_GE(result.upload_seconds, 3 * std::chrono::duration<double>(LittleRoom::kTime).count()) << "made twice";
  ASSERT_EQ(result.infer_seconds.size(), 2U);
  EXPECT_LT(result.infer_seconds[0], 4 * std::chrono::duration<double>(LittleRoom::kTime).count());
}

/// Gives batches that leave images to others.
class SomeBatches final : public BatchSource {
 public:
  Index largest(Index least) const override { return least; }
  ImageRange take(const Wish& wish) override {
    wishes.push_back(wish.most);
    return taken_ < batches_.size() ? batches_[taken_++] : ImageRange{};
  }
  Index take_part(Index parts) override { return parts; }
  void restart() override {}
  int sharers() const override { return 2; }
  std::vector<Index> wishes;

 private:
  std::vector<ImageRange> batches_{{0, 2}, {6, 2}};
  std::size_t taken_ = 0;
};

TEST(BatchLoop, ImagesThatOthersTookCountAsDone) {
  LittleRoom room;
  SomeBatches source;
  LoopOptions options;
  options.batches = &source;
  std::vector<std::uint64_t> done;
  options.progress = [&](const ProgressUpdate& update) {
    if (!update.over) done.push_back(update.done);
    EXPECT_EQ(update.total, 5U * 10);
  };
  LoopResult result;
  result.batch = 2;
  run_in_batches(room, {.images = 10, .steps = 10}, options, result);
  EXPECT_EQ(result.batches.size(), 2U);
  EXPECT_EQ(source.wishes, (std::vector<Index>{2, 2, 2}));
  ASSERT_GE(done.size(), 2U);
  done.erase(std::unique(done.begin(), done.end()), done.end());
  EXPECT_EQ(done, (std::vector<std::uint64_t>{0, 10, 40, 50}));
}

TEST(BatchLoop, ABatchThatWasAskedForAndASingleImageAreNotMadeSmaller) {
  LittleRoom room;
  room.to_load = 3;
  LoopOptions options;
  options.batch = 10;
  EXPECT_THROW(run_all(room, 10, options), OutOfMemory);
  LittleRoom none;
  none.to_make = 0;
  EXPECT_THROW(run_all(none, 10, {}), std::bad_alloc);
  EXPECT_EQ(none.made, (std::vector<Index>{10, 5, 3, 2, 1}));
}

TEST(BatchLoop, ProgressEndsWhereItShouldThoughABatchWasBegunAgain) {
  LittleRoom room;
  room.to_repeat = 5;
  std::vector<std::uint64_t> done;
  LoopOptions options;
  options.trials = 2;
  options.progress = [&](const ProgressUpdate& update) {
    EXPECT_EQ(update.total, 8U) << "two trials of four steps";
    done.push_back(update.done);
  };
  run_all(room, 10, options);
  EXPECT_EQ(done, (std::vector<std::uint64_t>{0, 4, 8, 4, 8, 8, 8, 8})) << "nothing of the batch that failed is done";
}

/// Is due a number of steps before its end; records the steps of each advance, and where it was interrupted.
class Interrupted final : public Runnable {
 public:
  Index due_after = kMaxIndex;
  Index due_again_after = kMaxIndex;
  bool goes_on = true;
  std::vector<Index> advanced;
  std::vector<Index> interrupted;
  std::vector<ImageRange> gathered;

  void make(Index /*batch*/) override {}
  void load(const ImageRange& /*images*/) override {}
  void reset() override { step_ = 0; }
  Index advance(Index first, Index until) override {
    EXPECT_EQ(first, step_);
    advanced.push_back(until - first);
    return step_ = until;
  }
  void finish() override {}
  void keep(int /*trial*/) override {}
  void gather(const ImageRange& images) override { gathered.push_back(images); }
  double due_in() override { return step_ < due_after ? 1e9 : 0; }
  bool interrupt(const ImageRange& images, Index step) override {
    EXPECT_EQ(images.count, 10U);
    interrupted.push_back(step);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    due_after = std::exchange(due_again_after, kMaxIndex);
    return goes_on;
  }

 private:
  Index step_ = 0;
};

/// Runs as if on `device`; waiting for it takes no time.
LoopResult run_interrupted(Interrupted& work, Index steps, Device device) {
  LoopResult result;
  result.batch = 10;
  run_in_batches(work, {.images = 10, .steps = steps, .device = device, .may_be_interrupted = true}, {}, result);
  return result;
}

TEST(BatchLoop, ADeviceIsGivenAThirtySecondOfTheStepsAtATime) {
  Interrupted many;
  run_interrupted(many, 96, Device::cuda);
  EXPECT_EQ(many.advanced, std::vector<Index>(32, 3));
  Interrupted few;
  run_interrupted(few, 5, Device::cuda);
  EXPECT_EQ(few.advanced, std::vector<Index>(5, 1));
}

TEST(BatchLoop, ARunThatIsDueIsInterruptedAndGoesOnOrEnds) {
  for (const Device device : {Device::cpu, Device::cuda}) {
    Interrupted work;
    work.due_after = 2;
    const LoopResult result = run_interrupted(work, 6, device);
    EXPECT_EQ(work.interrupted, std::vector<Index>{2});
    EXPECT_EQ(work.gathered.size(), 1U);
    EXPECT_EQ(result.batches.size(), 1U);
    EXPECT_GE(result.interrupted_seconds, 0.005);
    Interrupted twice;
    twice.due_after = 1;
    twice.due_again_after = 4;
    EXPECT_GE(run_interrupted(twice, 6, device).interrupted_seconds, 0.010) << "of both";
    EXPECT_EQ(twice.interrupted, (std::vector<Index>{1, 4}));
    Interrupted ended;
    ended.due_after = 0;
    ended.goes_on = false;
    EXPECT_TRUE(run_interrupted(ended, 6, device).batches.empty());
    EXPECT_EQ(ended.interrupted, std::vector<Index>{0});
    EXPECT_TRUE(ended.advanced.empty() && ended.gathered.empty());
  }
}

/// A model's engine with room for two images; it returns their first number, and counts its calls.
class TwoImages final : public ModelEngine {
 public:
  static inline int made = 0;
  explicit TwoImages(Index /*batch*/) { ++made; }
  void load(const Tensor& images) override {
    if (images.shape[0] > 2) throw std::bad_alloc();
    images_ = images;
  }
  void reset() override {}
  Index advance(Index /*first*/, Index until) override { return until; }
  std::vector<Tensor> outputs() override { return {images_}; }
  std::optional<Index> overflow() const override { return {}; }
  std::vector<double> node_seconds() const override { return {1}; }

 private:
  Tensor images_;
};

TEST(BatchLoop, ModelsRunInSmallerBatchesToo) {
  const ModelVariant variant{
      "two",
      Device::cpu,
      "for tests",
      {Precision::fp32},
      [](const Model&, const ModelEngineOptions&) { return Support{}; },
      [](std::shared_ptr<const Model>, const ModelEngineOptions& options,
         const Support&) -> std::unique_ptr<ModelEngine> { return std::make_unique<TwoImages>(options.batch); }};
  testing::ModelBuilder builder;
  const ValueId x = builder.input({kBatchExtent, 1});
  const auto model = std::make_shared<const Model>(builder.finish({builder.add(Activation{}, {x})}));
  const Tensor images = testing::make_tensor({7, 1}, {1, 2, 3, 4, 5, 6, 7});
  ModelRunOptions options;
  options.engine.batch = 7;
  options.trials = 3;
  const ModelRunResult result = run_model(variant, model, images, options);
  EXPECT_EQ(counts(result.batches), (std::vector<Index>{2, 2, 2, 1}));
  EXPECT_EQ(TwoImages::made, 3) << "for 7, 4 and 2 at a time";
  EXPECT_TRUE(std::equal(images.values.begin(), images.values.end(), result.outputs[0].values.begin()));
  EXPECT_EQ(result.differing_trials, 0);
  EXPECT_EQ(result.node_seconds, std::vector<double>{4}) << "a second for each batch";
  std::unique_ptr<ModelEngine> kept;
  options.kept = &kept;
  options.engine.batch = run_model(variant, model, images, options).batch;
  const ModelRunResult again = run_model(variant, model, images, options);
  EXPECT_EQ(counts(again.batches), (std::vector<Index>{2, 2, 2, 1}));
  EXPECT_EQ(TwoImages::made, 6) << "the last engine stayed";
  options.kept = nullptr;
  options.batch = options.engine.batch = 7;
  EXPECT_THROW(run_model(variant, model, images, options), std::bad_alloc);
}

}  // namespace
}  // namespace spdnn
