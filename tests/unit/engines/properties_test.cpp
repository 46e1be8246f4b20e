// Properties of every engine on any network: the order of the images, their batches, the steps of advance(), the number
// of threads and the dynamic passes do not change the result.

#include <gtest/gtest.h>

#include <numeric>

#include "inference/run/run.hpp"
#include "spdnn/error.hpp"
#include "support/battery.hpp"

namespace spdnn {
namespace {

struct Setting {
  const Variant* variant;
  Precision precision;
};

class Properties : public ::testing::TestWithParam<std::size_t> {
 public:
  static std::vector<Setting> configurations() {
    std::vector<Setting> all;
    for (const Variant& variant : variants())
      for (const Precision precision : variant.precisions) all.push_back({&variant, precision});
    return all;
  }
  static std::string name_of(const ::testing::TestParamInfo<std::size_t>& test) {
    const Setting c = configurations()[test.param];
    return std::string(c.variant->name) + "_" + std::string(to_string(c.precision));
  }

 protected:
  void SetUp() override {
    try {
      const Support support = support_of(*configuration_.variant, plan(), batch_info(images_), options());
      if (!support.takes()) GTEST_SKIP() << support.why_not;
      make(plan());
    } catch (const DeviceError& error) {
      GTEST_SKIP() << error.what();
    }
  }
  EngineOptions options(int threads = 2) const { return {.precision = configuration_.precision, .threads = threads}; }
  std::unique_ptr<InspectableEngine> make(const Plan& plan, int threads = 2) const {
    return testing::engine_for(*configuration_.variant, plan, images_, options(threads));
  }
  RunResult run_batches(const Plan& plan, const ImageSet& images, Index batch) const {
    RunOptions options;
    options.engine = this->options();
    options.batch = batch;
    options.trials = 2;
    return run(*configuration_.variant, plan, images, options);
  }
  const Network& network() const { return network_; }
  const ImageSet& images() const { return images_; }
  Plan plan(std::string_view passes = "dead,saturated,identical") const {
    return testing::unreduced_plan(network_, parse_passes(passes));
  }

 private:
  Setting configuration_ = configurations()[GetParam()];
  testing::Rng rng_{77};
  Network network_ = testing::deep_network(40);
  ImageSet images_ = testing::bit_images(rng_, 1500, 64, 0.4);
};

std::vector<double> final_activations(InspectableEngine& engine, const ImageSet& images, Index depth) {
  engine.load(images);
  testing::run_through(engine, depth);
  return engine.activations();
}

TEST_P(Properties, PermutingImagesPermutesCategories) {
  const Plan p = plan();
  const auto engine = make(p);
  engine->load(images());
  const Outcome straight = testing::run_through(*engine, p.depth());
  EXPECT_GT(straight.categories.size(), 100U);
  EXPECT_LT(straight.categories.size(), 1400U);

  std::vector<Index> order(images().images());  // position -> image; 7 and 1500 have no common divisor
  for (Index i = 0; i < order.size(); ++i) order[i] = i * 7 % images().images();
  engine->load(images().select(order));
  const Outcome permuted = testing::run_through(*engine, p.depth());
  Categories back;
  for (const Index position : permuted.categories) back.push_back(order[position]);
  std::sort(back.begin(), back.end());
  EXPECT_EQ(back, straight.categories);
  EXPECT_EQ(permuted.alive, straight.alive);
}

TEST_P(Properties, BatchesConcatenate) {
  const Plan p = plan();
  const RunResult whole = run_batches(p, images(), 0);
  EXPECT_EQ(whole.batch, images().images());
  EXPECT_EQ(whole.infer_seconds.size(), 2U);
  for (const Index batch : {1499U, 400U, 33U}) {
    const RunResult parts = run_batches(p, images(), batch);
    EXPECT_EQ(parts.batch, batch);
    EXPECT_EQ(parts.outcome.categories, whole.outcome.categories) << "batches of " << batch;
    EXPECT_EQ(parts.outcome.alive, whole.outcome.alive) << "batches of " << batch;
  }
}

TEST_P(Properties, StepsOfAdvanceDoNotShow) {
  const Plan p = plan();
  const auto engine = make(p);
  engine->load(images());
  const Outcome whole = testing::run_through(*engine, p.depth());
  const std::vector<double> expected = engine->activations();
  for (const Index step : {1U, 3U, 16U}) {
    engine->reset();
    for (Index layer = 0; layer < p.depth();) {
      const Index until = std::min(p.depth(), layer + step);
      const Index next = engine->advance(layer, until);
      EXPECT_GT(next, layer);
      EXPECT_LE(next, until);
      layer = next;
    }
    const Outcome stepped = engine->outcome();
    EXPECT_EQ(stepped.categories, whole.categories) << "steps of " << step;
    EXPECT_EQ(stepped.alive, whole.alive) << "steps of " << step;
    EXPECT_EQ(engine->activations(), expected) << "steps of " << step;
  }
}

TEST_P(Properties, ThreadsAndPassesDoNotShow) {
  const Plan none = plan("none");
  const auto alone = make(none, 1);
  const std::vector<double> expected = final_activations(*alone, images(), none.depth());
  const Outcome outcome = alone->outcome();
  for (const std::string_view passes : {"none", "dead", "saturated", "identical", "dead,saturated,identical"}) {
    for (const int threads : {2, 3}) {
      const Plan p = plan(passes);
      const auto engine = make(p, threads);
      EXPECT_EQ(final_activations(*engine, images(), p.depth()), expected) << passes << ", " << threads << " threads";
      EXPECT_EQ(engine->outcome().categories, outcome.categories) << passes << ", " << threads << " threads";
      EXPECT_EQ(engine->outcome().alive, outcome.alive) << passes << ", " << threads << " threads";
    }
  }
}

TEST_P(Properties, BitsAndNumbersAreTheSameImages) {
  const Plan p = plan();
  const auto engine = make(p);
  const std::vector<double> bits = final_activations(*engine, images(), p.depth());
  EXPECT_EQ(final_activations(*engine, {images().to_csr()}, p.depth()), bits);
}

TEST_P(Properties, PassesFindWhatThereIs) {
  std::vector<Index> twice(200);
  for (Index i = 0; i < twice.size(); ++i) twice[i] = i / 2;
  const auto outcome_of = [&](std::string_view passes) {
    const Plan p = plan(passes);
    const auto engine = make(p);
    engine->load(images().select(twice));
    return testing::run_through(*engine, p.depth());
  };
  EXPECT_GT(outcome_of("dead,saturated,identical").saturated, 0);
  EXPECT_GT(outcome_of("identical").identical, 0);
  const Outcome none = outcome_of("none");
  EXPECT_EQ(none.saturated, 0);
  EXPECT_EQ(none.identical, 0);
}

INSTANTIATE_TEST_SUITE_P(Engines, Properties, ::testing::Range<std::size_t>(0, Properties::configurations().size()),
                         Properties::name_of);

}  // namespace
}  // namespace spdnn
