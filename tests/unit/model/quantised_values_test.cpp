// Which nodes are a value that is quantised to 8 bits: the steps as files have them, and the nearest chains that are
// none.

#include <gtest/gtest.h>

#include <array>
#include <functional>

#include "model/graph/quantised.hpp"
#include "model/graph/whole_weights.hpp"
#include "support/models.hpp"

namespace spdnn {
namespace {

using testing::kN;
using testing::make_tensor;
using testing::ModelBuilder;

/// The steps of a quantised value, with numbers that a test may change.
struct StepsOfValue {
  float scale = 0.5F, back = 0.5F;  ///< that divides, and that multiplies
  float zero = 3, zero_back = 3;    ///< that is added, and that is subtracted
  float low = 0, high = 255;
  bool adds = true, subtracts = true;
  bool between = false;  ///< a relu after the rounding
  Shape of_numbers{};
  std::array<Elementwise::Kind, 4> kinds{Elementwise::Kind::divide, Elementwise::Kind::add, Elementwise::Kind::subtract,
                                         Elementwise::Kind::multiply};
  Activation::Kind rounding = Activation::Kind::round;
  int read_again = -1;  ///< the step whose result is an output, too

  std::vector<QuantisedValue> found() const {
    ModelBuilder builder;
    ValueId x = builder.input({kN, 4});
    std::vector<ValueId> steps;
    const auto step = [&](const Operation& operation, std::vector<ValueId> inputs) {
      x = builder.add(operation, std::move(inputs));
      steps.push_back(x);
    };
    const auto with = [&](Elementwise::Kind kind, float number) {
      const std::vector<float> numbers(*elements(of_numbers), number);
      step(Elementwise{kind}, {x, builder.constant(make_tensor(of_numbers, numbers))});
    };
    with(kinds[0], scale);
    step(testing::make_activation(rounding), {x});
    if (between) step(Activation{}, {x});
    if (adds) with(kinds[1], zero);
    step(testing::make_clip(low, high), {x});
    if (subtracts) with(kinds[2], zero_back);
    with(kinds[3], back);
    std::vector<ValueId> outputs{x};
    if (read_again >= 0) outputs.push_back(steps.at(static_cast<std::size_t>(read_again)));
    return quantised_values(builder.finish(outputs));
  }
};

TEST(QuantisedValues, AreFoundWithTheirNumbers) {
  const std::vector<QuantisedValue> found = StepsOfValue{}.found();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_FALSE(found[0].is_signed);
  EXPECT_EQ(found[0].zero, 3);
  EXPECT_EQ(found[0].scale, 0.5F);
  EXPECT_EQ(found[0].nodes, (std::vector<std::size_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(found[0].zeros.size(), 2U);
  EXPECT_EQ(found[0].whole(), 3U);
  const std::vector<QuantisedValue> plain =
      StepsOfValue{.low = -128, .high = 127, .adds = false, .subtracts = false}.found();
  ASSERT_EQ(plain.size(), 1U);
  EXPECT_TRUE(plain[0].is_signed);
  EXPECT_EQ(plain[0].zero, 0);
  EXPECT_EQ(plain[0].whole(), 2U);
  EXPECT_EQ(StepsOfValue({.zero = 255, .zero_back = 255}).found().size(), 1U);
  EXPECT_EQ(StepsOfValue({.zero = 0, .zero_back = 0}).found().size(), 1U);
  EXPECT_EQ(StepsOfValue({.zero = -128, .zero_back = -128, .low = -128, .high = 127}).found().size(), 1U);
}

TEST(QuantisedValues, ChainsThatDifferInOneStepAreNone) {
  const auto none = [](const StepsOfValue& chain) { return chain.found().empty(); };
  EXPECT_TRUE(none({.back = 0.25F})) << "another scale on the way back";
  EXPECT_TRUE(none({.scale = -0.5F, .back = -0.5F})) << "no scale";
  EXPECT_TRUE(none({.zero_back = 4})) << "another zero point on the way back";
  EXPECT_TRUE(none({.adds = false}));
  EXPECT_TRUE(none({.subtracts = false}));
  EXPECT_TRUE(none({.zero = 256, .zero_back = 256})) << "above the integers";
  EXPECT_TRUE(none({.zero = -1, .zero_back = -1})) << "below the integers";
  EXPECT_TRUE(none({.zero = 128, .zero_back = 128, .low = -128, .high = 127}));
  EXPECT_TRUE(none({.zero = 2.5F, .zero_back = 2.5F})) << "no integer";
  EXPECT_TRUE(none({.low = -100, .high = 155})) << "no integer type";
  EXPECT_TRUE(none({.high = 65535})) << "16 bits";
  EXPECT_TRUE(none({.between = true}));
  EXPECT_TRUE(none({.adds = false, .subtracts = false, .between = true}));
  EXPECT_TRUE(none({.of_numbers = {1, 1}})) << "a number with axes";
  EXPECT_TRUE(none({.of_numbers = {4}})) << "numbers of their own for each channel";
  EXPECT_FALSE(none({.of_numbers = {1}}));
  EXPECT_TRUE(none({.rounding = Activation::Kind::relu}));
  using Both = Elementwise::Kind;
  for (std::size_t step = 0; step < 4; ++step)
    for (const Both kind : {Both::add, Both::subtract, Both::multiply, Both::divide, Both::maximum, Both::minimum}) {
      StepsOfValue chain;
      const bool same = chain.kinds[step] == kind;
      chain.kinds[step] = kind;
      EXPECT_EQ(none(chain), !same) << "step " << step << " is of kind " << static_cast<int>(kind);
    }
  for (int step = 0; step < 5; ++step) EXPECT_TRUE(none({.read_again = step})) << step;
}

CsrMatrix one_row(const std::vector<float>& values) {
  testing::Rows rows(1);
  for (const float value : values) rows[0].emplace_back(static_cast<Index>(rows[0].size()), value);
  return testing::make_matrix(static_cast<Index>(values.size()), rows);
}

TEST(WholeWeights, FitIntoBytesUpToTheLimitsOfInt8) {
  EXPECT_TRUE(whole_weights(one_row({127, 1, -127}))->in_bytes);
  EXPECT_FALSE(whole_weights(one_row({128, 127, 1}))->in_bytes);
  EXPECT_FALSE(whole_weights(one_row({255, 254, -1}))->in_bytes);
  EXPECT_TRUE(whole_weights(one_row({-128, 127, 1}))->in_bytes);
  EXPECT_FALSE(whole_weights(one_row({-129, 127, 1}))->in_bytes);
  const CsrMatrix only_the_second_fits =
      testing::make_matrix(3, {{{0, 128.F}, {1, 127.F}, {2, 1.F}}, {{0, 127.F}, {1, 1.F}}});
  EXPECT_FALSE(whole_weights(only_the_second_fits)->in_bytes);
}

/// Numbers below 1e-38 lose digits, or are taken for zero.
TEST(WholeWeights, HaveScalesThatFp32HoldsWithAllDigits) {
  EXPECT_FALSE(whole_weights(one_row({3e-39F, 1.5e-39F})));
  EXPECT_TRUE(whole_weights(one_row({3e-36F, 1.5e-36F})));
  std::vector<float> scales{0.5F, 2};
  EXPECT_TRUE(scale_sums(scales, 0.25F));
  EXPECT_EQ(scales, (std::vector<float>{0.125F, 0.5F}));
  for (const float by : {1e-38F, 3e38F}) {
    scales = {0.25F, 2};
    EXPECT_FALSE(scale_sums(scales, by)) << by;
  }
}

}  // namespace
}  // namespace spdnn
