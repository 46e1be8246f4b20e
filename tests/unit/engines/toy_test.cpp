// A variant is one file and one line: this one is tests/unit/toy/columns.cpp, its line is in
// tests/unit/toy/variants.def. No other code names it; the battery, the choice and the loop treat it as any other
// variant.

#include <gtest/gtest.h>

#include "engines/choose.hpp"
#include "engines/variant_lines.hpp"
#include "inference/run/run.hpp"
#include "spdnn/error.hpp"
#include "support/battery.hpp"

namespace spdnn {

#define SPDNN_VARIANT(name, device, description, ...) SPDNN_DECLARE_VARIANT(name)
#include "unit/toy/variants.def"
#undef SPDNN_VARIANT

namespace {

const std::vector<Variant>& toys() {
  static const std::vector<Variant> all = {
#define SPDNN_VARIANT SPDNN_LIST_VARIANT
#include "unit/toy/variants.def"
#undef SPDNN_VARIANT
  };
  return all;
}

TEST(ToyVariant, GoesThroughTheBattery) {
  for (const Variant& toy : toys()) {
    const testing::BatteryCount count =
        testing::run_battery(toy, toy.precisions.front(), testing::battery(), [&](const testing::Case& c) {
          const EngineOptions options{.precision = toy.precisions.front()};
          EXPECT_EQ(testing::difference(testing::oracle(c), c, toy.make, {}, options, 1e-12), "") << c.name;
        });
    EXPECT_GT(count.taken, 20);
    EXPECT_EQ(count.refused.size(), 2U) << "the deep networks";
  }
}

TEST(ToyVariant, IsRunAndChosenAsOthersAre) {
  const Variant& toy = toys().front();
  const testing::Case c = testing::square_case("square", 32, 20);
  const Plan plan = testing::unreduced_plan(c.network);
  RunOptions options;
  options.engine.precision = Precision::fp64;
  const Outcome expected = run(oracle(), plan, c.images, options).outcome;
  const Outcome found = run(toy, plan, c.images, options).outcome;
  EXPECT_EQ(found.categories, expected.categories);
  EXPECT_EQ(found.alive, expected.alive);
  EXPECT_EQ(choose_variant(plan, batch_info(c.images), {}, {&toy}).variant, &toy);
  Plan deep = testing::unreduced_plan(testing::deep_network(40));
  EXPECT_THROW(run(toy, deep, testing::square_case("wide", 64, 3).images, options), UsageError);
}

}  // namespace
}  // namespace spdnn
