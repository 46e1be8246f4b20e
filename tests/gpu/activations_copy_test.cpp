// Copies of activations on the device are those of the moment of the copy, whenever and on whatever thread they are
// read, so that checkpoints are written while the run goes on.

#include <gtest/gtest.h>

#include <thread>

#include "core/types/counted_csr.hpp"
#include "engines/cuda/runtime/memory.hpp"
#include "inference/run/run.hpp"
#include "plan/planner.hpp"
#include "support/battery.hpp"
#include "support/engines.hpp"
#include "support/equal.hpp"

namespace spdnn::cuda {
namespace {

class ActivationsCopyTest : public ::testing::Test {
 protected:
  /// Calls work(variant) for the variants that copy their activations.
  template <class Work>
  void for_each_variant(const Work& work) const {
    for (const char* const name : {"resident", "spmm_rows", "spmm_merge", "spmm_shared"}) {
      SCOPED_TRACE(name);
      work(find_variant(name));
    }
  }
};

std::vector<double> dense(const CsrMatrix& rows) {
  std::vector<double> all(std::size_t{rows.rows} * rows.cols, 0.0);
  for (Index row = 0; row < rows.rows; ++row)
    for (Offset k = rows.offsets[row]; k < rows.offsets[row + 1]; ++k)
      all[std::size_t{row} * rows.cols + rows.indices[k]] = rows.entry_value(k);
  return all;
}

TEST_F(ActivationsCopyTest, IsThatOfItsMomentHoweverFarTheEngineIs) {
  int compared = 0;
  for_each_variant([&](const Variant& variant) {
    for (const testing::Case& one : testing::battery())
      for (const char* const passes : {"none", "dead", "all"}) {
        SCOPED_TRACE(one.name + ", " + passes);
        const Plan plan = make_plan(one.network, parse_passes(passes));
        if (plan.depth() == 0 || !support_of(variant, plan, batch_info(one.images), {}).takes()) continue;
        const auto engine = testing::engine_for(variant, plan, one.images, {});
        engine->load(one.images);
        std::vector<std::vector<double>> expected;
        std::vector<std::unique_ptr<ActivationsCopy>> copies;
        for (Index k = 0; k < plan.depth(); ++k) {
          engine->advance(k, k + 1);
          copies.push_back(engine->copy_activations());
          expected.push_back(engine->activations());
        }
        std::jthread([&] {
          for (std::size_t k = 0; k < copies.size(); ++k) {
            ASSERT_NE(copies[k], nullptr);
            EXPECT_EQ(dense(copies[k]->read(CountedCsr::kUnlimited)), expected[k]) << "after layer " << k + 1;
            EXPECT_THROW(copies[k]->read(0), std::bad_alloc);
            ++compared;
          }
        }).join();
      }
  });
  EXPECT_GT(compared, 500);
}

TEST_F(ActivationsCopyTest, OutlivesTheEngineAndGivesItsMemoryBack) {
  const Plan plan = make_plan(testing::deep_network(12), parse_passes("dead"));
  testing::Rng rng(5);
  const ImageSet images = testing::bit_images(rng, 1000, 64, 0.4);
  for_each_variant([&](const Variant& variant) {
    auto engine = testing::engine_for(variant, plan, images, {});
    engine->load(images);
    engine->advance(0, 3);
    const std::vector<double> expected = engine->activations();
    const std::uint64_t before = pool_use().used;
    auto copy = engine->copy_activations();
    EXPECT_GT(pool_use().used, before);
    engine->reset();
    engine->advance(0, plan.depth());
    engine.reset();
    EXPECT_EQ(dense(copy->read(CountedCsr::kUnlimited)), expected);
    copy.reset();
    EXPECT_LT(pool_use().used, before);
  });
}

TEST_F(ActivationsCopyTest, IsNotMadeWhereTheDeviceMayNotTakeTheMemory) {
  const Plan plan = make_plan(testing::deep_network(12), parse_passes("none"));
  testing::Rng rng(5);
  const ImageSet images = testing::bit_images(rng, 1000, 64, 0.4);
  for_each_variant([&](const Variant& variant) {
    const auto with_room = testing::engine_for(variant, plan, images, {});
    with_room->load(images);
    with_room->advance(0, 1);
    EXPECT_NE(with_room->copy_activations(), nullptr);
    EngineOptions options;
    options.device_memory = 1000 * 64 * sizeof(float) - 1;
    const auto without = testing::engine_for(variant, plan, images, options);
    without->load(images);
    without->advance(0, 1);
    EXPECT_EQ(without->copy_activations(), nullptr);
    EXPECT_FALSE(without->activations().empty());
  });
}

/// Interrupts a run at every chance, and asks for its results at once and later.
class NowAndLater final : public Interruption {
 public:
  double due_in() override { return 0; }
  bool interrupt(InterruptedRun& run) override {
    later.push_back(run.result_beside());
    now.push_back(run.result());
    return true;
  }
  std::vector<RunResult> now;
  std::vector<std::function<RunResult()>> later;
};

TEST_F(ActivationsCopyTest, GivesTheResultsOfAnInterruptedRun) {
  const Plan plan = make_plan(testing::deep_network(12), parse_passes("dead,saturated,identical"));
  testing::Rng rng(5);
  const ImageSet images = testing::bit_images(rng, 700, 64, 0.4);
  for_each_variant([&](const Variant& variant) {
    RunOptions options;
    options.batch = 300;
    options.engine.in_steps = true;
    NowAndLater taken;
    options.interruption = &taken;
    const RunResult result = run(variant, plan, images, options);
    EXPECT_FALSE(result.unfinished);
    ASSERT_GT(taken.now.size(), 24U);
    for (std::size_t i = 0; i < taken.now.size(); ++i) {
      ASSERT_EQ(static_cast<bool>(taken.later[i]), taken.now[i].unfinished->layer > 0) << i;
      if (!taken.later[i]) continue;
      const RunResult later = taken.later[i]();
      EXPECT_EQ(later.unfinished->layer, taken.now[i].unfinished->layer);
      testing::expect_equal(later.unfinished->begun.to_csr(), taken.now[i].unfinished->begun.to_csr());
    }
  });
}

}  // namespace
}  // namespace spdnn::cuda
