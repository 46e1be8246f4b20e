#include "report/conv_summary.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

namespace spdnn {
namespace {

ConvLine conv_line(const char* layer, double zeros, double speed_up, std::uint64_t batch = 1) {
  ConvLine line{.table = "t",
                .layer = layer,
                .variant = "sparse",
                .kernel = "k",
                .batch = batch,
                .sparsity = zeros,
                .kept = 1 - zeros,
                .origin = {}};
  line.with.push_back({"onednn", "oneDNN in fp32", 1, {1 / speed_up, 1 / speed_up, 1 / speed_up, 0}});
  return line;
}

TEST(ConvSummary, MeansAreGeometricOverLayersOfOneSetting) {
  const std::vector<ConvLine> lines{conv_line("a", 0.9, 2), conv_line("b", 0.9, 8), conv_line("a", 0.5, 3),
                                    conv_line("a", 0.9, 7, 2)};
  const std::vector<ConvMean> means = conv_means(lines);
  ASSERT_EQ(means.size(), 3U);
  EXPECT_EQ(means[0].layers, 2U);
  EXPECT_DOUBLE_EQ(means[0].speed_up, 4);
  EXPECT_DOUBLE_EQ(means[1].speed_up, 3);
  EXPECT_DOUBLE_EQ(means[2].speed_up, 7);
}

/// Two lines that differ in one of the things that make a table of its own.
TEST(ConvSummary, NothingIsTakenTogetherThatIsNotOfOneTable) {
  const auto count = [](const auto& change) {
    std::vector<ConvLine> lines{conv_line("a", 0.5, 2), conv_line("a", 0.9, 3)};
    change(lines[1]);
    const std::size_t pairs = conv_break_evens(lines).size();
    lines[1].sparsity = 0.5;
    return fmt::format("{} {}", conv_means(lines).size(), pairs);
  };
  EXPECT_EQ(count([](ConvLine&) {}), "1 1");
  EXPECT_EQ(count([](ConvLine& line) { line.table = "u"; }), "2 0");
  EXPECT_EQ(count([](ConvLine& line) { line.batch = 2; }), "2 0");
  EXPECT_EQ(count([](ConvLine& line) { line.variant = "other"; }), "2 0");
  EXPECT_EQ(count([](ConvLine& line) { line.origin.cpu = "other"; }), "2 0");
  EXPECT_EQ(count([](ConvLine& line) { line.with[0].with = "other"; }), "2 0");
  EXPECT_EQ(count([](ConvLine& line) { line.layer = "b"; }), "1 0") << "a mean is over layers";
}

/// The share of zeros that was asked for may not be reached.
TEST(ConvSummary, BreakEvensAreSharesOfZerosThatTheWeightsHave) {
  std::vector<ConvLine> lines{conv_line("a", 0.5, 0.5), conv_line("a", 0.9, 2)};
  lines[0].kept = 0.75;
  lines[1].kept = 0.25;
  const ConvBreakEven found = conv_break_evens(lines).at(0);
  EXPECT_EQ(found.least, 0.25);
  EXPECT_EQ(found.most, 0.75);
  EXPECT_NEAR(found.zeros.value(), 0.5, 1e-12);
}

TEST(ConvSummary, BreakEvenLiesWhereTheLogarithmOfTheSpeedUpIsZero) {
  const auto of = [](const std::vector<ConvLine>& lines) { return conv_break_evens(lines).at(0); };
  const ConvBreakEven between = of({conv_line("a", 0.9, 8), conv_line("a", 0.5, 0.5)});
  EXPECT_NEAR(between.zeros.value(), 0.6, 1e-12);
  const ConvBreakEven faster = of({conv_line("a", 0.5, 1.5), conv_line("a", 0.9, 2)});
  EXPECT_FALSE(faster.zeros);
  EXPECT_TRUE(faster.faster);
  EXPECT_EQ(faster.least, 0.5);
  const ConvBreakEven slower = of({conv_line("a", 0.5, 0.5), conv_line("a", 0.9, 0.9)});
  EXPECT_FALSE(slower.zeros);
  EXPECT_FALSE(slower.faster);
  const ConvBreakEven equal = of({conv_line("a", 0.5, 0.5), conv_line("a", 0.9, 1)});
  EXPECT_TRUE(equal.faster);
  EXPECT_NEAR(equal.zeros.value(), 0.9, 1e-12) << "as fast with the most zeros";
  EXPECT_FALSE(of({conv_line("a", 0.5, 1), conv_line("a", 0.9, 2)}).zeros) << "as fast with the fewest";
  // Where it loses again with more zeros, the last change counts.
  const ConvBreakEven twice =
      of({conv_line("a", 0.5, 2), conv_line("a", 0.6, 0.5), conv_line("a", 0.7, 0.5), conv_line("a", 0.8, 2)});
  EXPECT_NEAR(twice.zeros.value(), 0.75, 1e-12);
  EXPECT_TRUE(conv_break_evens({conv_line("a", 0.5, 2), conv_line("b", 0.6, 2)}).empty());
  EXPECT_TRUE(conv_break_evens({conv_line("a", 0.5, 0.5), conv_line("a", 0.5, 2)}).empty()) << "one share, timed twice";
}

TEST(ConvSummary, ZerosOfTheInputHaveABreakEvenOfTheirOwn) {
  const auto line = [](double zeros, double input, double speed_up) {
    ConvLine one = conv_line("a", zeros, speed_up);
    one.input_sparsity = input;
    return one;
  };
  const std::vector<ConvLine> lines{line(0, 0, 0.5), line(0, 0.8, 2), line(0.5, 0, 1.5), line(0.5, 0.8, 4)};
  const std::vector<ConvBreakEven> found = conv_break_evens(lines);
  ASSERT_EQ(found.size(), 4U);  // of the weights without and with zeros in the input, and of the input likewise
  EXPECT_FALSE(found[0].of_input);
  EXPECT_NEAR(found[0].zeros.value(), 0.5 * std::log(2) / std::log(3), 1e-12);
  EXPECT_EQ(found[1].first->input_sparsity, 0.8);
  EXPECT_FALSE(found[1].zeros);
  EXPECT_TRUE(found[2].of_input);
  EXPECT_NEAR(found[2].zeros.value(), 0.4, 1e-12);
  EXPECT_EQ(found[2].most, 0.8);
  EXPECT_EQ(found[3].first->sparsity, 0.5);
  EXPECT_EQ(conv_means(lines).size(), 4U);
}

}  // namespace
}  // namespace spdnn
