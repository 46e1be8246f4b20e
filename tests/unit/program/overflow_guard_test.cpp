// Which values a run looks at, so that its numbers are known to be finite, by hand: images are within 2^80, and numbers
// up to 2^127 are safe.

#include "program/overflow_guard.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "model/graph/magnitudes.hpp"
#include "support/models.hpp"

namespace spdnn {
namespace {

using testing::make_tensor;
using testing::ModelBuilder;

/// What is looked at, as powers of two: "value3<=2^80" before a step, "after: ..." after it.
std::vector<std::string> looks_at(const Model& model, const std::vector<Step>& steps, std::optional<Index>& unproven) {
  const Magnitudes magnitudes(model);
  program::OverflowGuard guard(model, magnitudes);
  std::set<ValueId> there(model.inputs.begin(), model.inputs.end());
  std::vector<std::string> all;
  const auto note = [&](const std::string& when, const program::OverflowGuard::Look& look) {
    all.push_back(when + model.values[look.value].name + "<=2^" + std::to_string(std::lround(std::log2(look.limit))));
  };
  for (const Step& step : steps) {
    const std::string node = std::to_string(step.node) + ": ";
    for (const auto& look : guard.before(step, [&](ValueId id) { return there.contains(id); })) note(node, look);
    if (const auto look = guard.after(step)) note("after " + node, *look);
    there.insert(model.nodes[step.last()].output);
  }
  unproven = guard.unproven();
  return all;
}

/// A node whose sums are `factor` times as large as what it reads.
Linear linear_times(float factor) { return {testing::make_matrix(2, {{{0, factor}}, {{1, -factor / 2}}}), {}}; }

/// A node that adds up two numbers, each `factor` times as large.
Linear sums_of_two(float factor) { return {testing::make_matrix(2, {{{0, factor}, {1, factor}}, {{1, factor}}}), {}}; }

using Looks = std::vector<std::string>;
constexpr auto kTimes = Elementwise::Kind::multiply;

TEST(OverflowGuard, LooksAtWhatAStepReadsWhereBoundsExceedAllNumbers) {
  ModelBuilder builder;
  ValueId x = builder.input({kBatchExtent, 2});
  std::vector<Step> steps;
  for (Index node = 0; node < 6; ++node) {
    x = builder.add(linear_times(0x1p20F), {x});
    steps.push_back({node, {}});
  }
  std::optional<Index> unproven;
  EXPECT_EQ(looks_at(builder.finish({x}), steps, unproven), (Looks{"2: value2<=2^80", "4: value4<=2^80"}))
      << "80, 100 and 120, and from 80 on again";
  EXPECT_EQ(unproven, std::nullopt);
}

TEST(OverflowGuard, LowersWhatIsReadInStepsUntilItIsSmallEnough) {
  const auto looks = [](float factor, std::optional<Index>& unproven) {
    ModelBuilder builder;
    const ValueId x = builder.input({kBatchExtent, 2});
    const ValueId y = builder.add(sums_of_two(factor), {x});
    const ValueId z = builder.add(sums_of_two(factor), {y});
    return looks_at(builder.finish({z}), {{0, {}}, {1, {}}}, unproven);
  };
  std::optional<Index> unproven;
  EXPECT_EQ(looks(0x1p46F, unproven), (Looks{"1: value1<=2^80"})) << "2^127 is safe";
  EXPECT_EQ(looks(0x1p47F, unproven), (Looks{"0: input0<=2^60", "1: value1<=2^60"}));
  EXPECT_EQ(looks(0x1p126F, unproven), (Looks{"0: input0<=2^0", "1: value1<=2^0"})) << "numbers to 1 are the last";
  EXPECT_EQ(unproven, std::nullopt);
  looks(0x1p127F, unproven);
  EXPECT_EQ(unproven, Index{0}) << "the first of two nodes, whatever they read";
}

TEST(OverflowGuard, LooksNeitherAtConstantsNorAtWhatIsSmallNorAtWhatAStepKeepsToItself) {
  ModelBuilder builder;
  const ValueId x = builder.input({kBatchExtent, 2});
  const ValueId small = builder.add(testing::make_clip(-1024, 1024), {x});
  const ValueId large = builder.add(linear_times(0x1p40F), {x});
  const ValueId product = builder.add(Elementwise{kTimes}, {large, small});
  const ValueId huge = builder.constant(make_tensor({1, 2}, {0x1p90F, -0x1p100F}));
  const ValueId scaled = builder.add(Elementwise{kTimes}, {x, huge});
  const ValueId inner = builder.add(linear_times(0x1p30F), {x});
  const ValueId outer = builder.add(Elementwise{kTimes}, {inner, small});
  const Model model = builder.finish({product, scaled, outer});
  std::optional<Index> unproven;
  EXPECT_EQ(looks_at(model, {{0, {}}, {1, {}}, {2, {}}, {3, {}}, {4, {5}}}, unproven),
            (Looks{"2: " + model.values[large].name + "<=2^80", "3: input0<=2^20"}));
  ModelBuilder again;
  const ValueId images = again.input({kBatchExtent, 2});
  const ValueId within = again.add(linear_times(0x1p30F), {images});
  const ValueId shift = again.add(linear_times(0x1p20F), {within});
  const Model fused = again.finish({shift});
  EXPECT_EQ(looks_at(fused, {{0, {1}}}, unproven), (Looks{"0: input0<=2^60"})) << "110 is made within the step";
  EXPECT_EQ(unproven, std::nullopt);
}

TEST(OverflowGuard, LooksAtQuotientsAndGoesOnFromTheirLimit) {
  ModelBuilder builder;
  const ValueId x = builder.input({kBatchExtent, 2});
  const ValueId quotient = builder.add(Elementwise{Elementwise::Kind::divide}, {x, x});
  const ValueId limited = builder.add(Activation{.kind = Activation::Kind::tanh}, {quotient});
  const ValueId large = builder.add(linear_times(0x1p40F), {quotient});
  const Model model = builder.finish({limited, builder.add(linear_times(0x1p20F), {large})});
  const std::string name = model.values[quotient].name;
  std::optional<Index> unproven;
  EXPECT_EQ(looks_at(model, {{0, {}}, {1, {}}, {2, {}}, {3, {}}}, unproven),
            (Looks{"after 0: " + name + "<=2^80", "3: " + model.values[large].name + "<=2^80"}));
  ModelBuilder again;
  const ValueId divisor = again.constant(make_tensor({1, 1}, {0x1p-60F}));
  const ValueId divided = again.add(Elementwise{Elementwise::Kind::divide}, {again.input({kBatchExtent, 2}), divisor});
  const Model clipped = again.finish({again.add(testing::make_clip(-8, 8), {divided})});
  EXPECT_EQ(looks_at(clipped, {{0, {1}}}, unproven), (Looks{"0: input0<=2^60"})) << "what is fused limits the result";
  EXPECT_EQ(looks_at(clipped, {{0, {}}, {1, {}}}, unproven), (Looks{"after 0: value2<=2^80"}));
}

TEST(OverflowGuard, TakesALimitThatIsSmallerThanWhatItKnows) {
  ModelBuilder builder;
  const ValueId x = builder.input({kBatchExtent, 2});
  const ValueId y = builder.add(linear_times(0x1p40F), {x});
  const Model model = builder.finish({builder.add(linear_times(0x1p30F), {y})});
  const Magnitudes magnitudes(model);
  for (const auto& [limit, looks] : {std::pair{65504.0, 0U}, {0x1p97, 0U}, {0x1p98, 1U}, {0x1p126, 1U}}) {
    program::OverflowGuard guard(model, magnitudes);
    const auto there = [](ValueId) { return true; };
    EXPECT_TRUE(guard.before({0, {}}, there).empty());
    guard.limit(y, limit);
    EXPECT_EQ(guard.before({1, {}}, there).size(), looks) << limit;
  }
}

}  // namespace
}  // namespace spdnn
