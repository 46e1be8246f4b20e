// Decisions that need no kernel: the nodes that may be fused, the places of buffers, and the images that a thread
// computes.

#include "program/steps.hpp"

#include <gtest/gtest.h>

#include "program/arena.hpp"
#include "program/compile_for.hpp"
#include "program/engine.hpp"
#include "program/parts.hpp"
#include "prune/quantise_values.hpp"
#include "support/models.hpp"

namespace spdnn {
namespace {

using testing::ModelBuilder;

bool share_a_byte(const ArenaLayout& layout, const std::vector<Lifetime>& lifetimes, std::size_t a, std::size_t b) {
  return layout.offsets[a] < layout.offsets[b] + lifetimes[b].bytes &&
         layout.offsets[b] < layout.offsets[a] + lifetimes[a].bytes;
}

TEST(Arena, BuffersOfOneTimeDoNotOverlap) {
  testing::Rng rng(41);
  for (int round = 0; round < 200; ++round) {
    std::vector<Lifetime> lifetimes;
    for (std::size_t i = 0; i < 25; ++i) {
      const std::size_t first = rng.below(20);
      const std::size_t steps = rng.below(4) == 0 ? rng.below(80) : rng.below(6);
      lifetimes.push_back({rng.below(5) == 0 ? 0 : rng.below(1000) + 1, first, first + steps});
    }
    const ArenaLayout layout = lay_out(lifetimes);
    for (std::size_t a = 0; a < lifetimes.size(); ++a) {
      EXPECT_EQ(layout.offsets[a] % kArenaAlignment, 0);
      EXPECT_LE(layout.offsets[a] + lifetimes[a].bytes, layout.bytes);
      for (std::size_t b = 0; b < a; ++b) {
        const bool meet = lifetimes[a].first <= lifetimes[b].last && lifetimes[b].first <= lifetimes[a].last;
        EXPECT_FALSE(meet && share_a_byte(layout, lifetimes, a, b)) << a << " and " << b;
      }
    }
  }
}

// A thread that waits at the end of each node waits for the scheduler, too, on a busy machine.
TEST(Parts, ThreadsComputeImagesOfTheirOwnHoweverSmallTheseAre) {
  ModelBuilder builder;
  const Model model = builder.finish({builder.add(Activation{}, {builder.input({kBatchExtent, 1, 28, 28})})});
  const auto in_parts = [&](Index batch, int threads) {
    const program::Parts parts = program::parts_of(model, batch, threads);
    return std::pair(parts.images, parts.teams);
  };
  EXPECT_EQ(in_parts(64, 2), std::pair(Index{32}, 2));
  EXPECT_EQ(in_parts(5, 2), std::pair(Index{3}, 2));
  EXPECT_EQ(in_parts(64, 1), std::pair(Index{64}, 1));
  EXPECT_EQ(in_parts(3, 2), std::pair(Index{3}, 1));
}

/// Each image takes 1 MB: what a step reads and writes is to be 8 MB.
TEST(Parts, ImagesOfLargeNodesAreComputedAFewAtATime) {
  ModelBuilder builder;
  const Model model = builder.finish({builder.add(Activation{}, {builder.input({kBatchExtent, 1, 250, 500})})});
  const auto in_parts = [&](Index batch, int threads) {
    const program::Parts parts = program::parts_of(model, batch, threads);
    return std::pair(parts.images, parts.teams);
  };
  EXPECT_EQ(in_parts(8, 1), std::pair(Index{8}, 1)) << "they fit";
  EXPECT_EQ(in_parts(9, 1), std::pair(Index{5}, 1)) << "two parts, as even as can be";
  EXPECT_EQ(in_parts(20, 1), std::pair(Index{7}, 1));
  EXPECT_EQ(in_parts(20, 16), std::pair(Index{10}, 1)) << "an image for each thread at least";
  EXPECT_EQ(in_parts(64, 2), std::pair(Index{4}, 2)) << "eight parts for each thread";
  EXPECT_EQ(in_parts(640, 2), std::pair(Index{8}, 2)) << "no more than fit";
  EXPECT_EQ(in_parts(9, 4), std::pair(Index{1}, 4));
  EXPECT_EQ(in_parts(7, 4), std::pair(Index{7}, 1)) << "fewer than two for each thread";
}

TEST(Parts, WhatNeedsAllImagesIsComputedInOne) {
  const auto images = [](bool from_all, bool output) {
    testing::Rng rng{46};
    ModelBuilder builder;
    const ValueId x = builder.input({kBatchExtent, 1, 500, 500});
    const ValueId constant = builder.constant(testing::random_tensor(rng, {1, 3}));
    const ValueId fixed = from_all ? builder.add(Activation{}, {constant}) : constant;
    std::vector<ValueId> outputs{builder.add(Activation{}, {x})};
    if (output) outputs.push_back(fixed);
    return program::parts_of(builder.finish(outputs), 64, 1).images;
  };
  EXPECT_EQ(images(false, false), 4U);
  EXPECT_EQ(images(true, false), 64U);
  EXPECT_EQ(images(false, true), 64U);
}

/// A constant, and a smaller node after the largest one, change nothing.
TEST(Parts, TheLargestNodeAndItsImagesCount) {
  ModelBuilder builder;
  const ValueId x = builder.input({kBatchExtent, 1, 250, 500});
  testing::Rng rng{48};
  const ValueId y = builder.add(Elementwise{}, {x, builder.constant(testing::random_tensor(rng, {250, 500}))});
  const Model model = builder.finish({builder.add(Activation{}, {builder.add(GlobalPool{}, {y})})});
  EXPECT_EQ(program::parts_of(model, 16, 1).images, 8U);
}

/// Fully connected, with all of its weights or the first ones of each row alone.
Linear equal_weights(Index rows, Index cols, Index degree) {
  std::vector<Offset> offsets(1);
  std::vector<Index> indices;
  for (Index row = 0; row < rows; ++row) {
    for (Index column = 0; column < degree; ++column) indices.push_back(column);
    offsets.push_back(indices.size());
  }
  return {make_csr(rows, cols, std::move(offsets), std::move(indices), std::vector<float>(rows * degree, 0.5F)), {}};
}

/// They would be read again for each part. The images of a part have 8 MB, as many as weights of 8 bytes where most are
/// zero, or of 4 bytes with the zeros.
TEST(Parts, LargeWeightsAreReadOnce) {
  const auto images = [&](Index cols, Index degree) {
    ModelBuilder builder;
    const ValueId y = builder.add(equal_weights(500, cols, degree), {builder.input({kBatchExtent, cols})});
    return program::parts_of(builder.finish({y}), 2000, 1).images;
  };
  EXPECT_EQ(images(4500, 4500), 2000U) << "9 MB of weights";
  EXPECT_EQ(images(3500, 3500), 500U) << "7 MB, or 14 if they were sparse";
  EXPECT_EQ(images(4500, 450), 400U) << "1.8 MB, or 9 if they were dense";
}

TEST(Parts, SmallNodesTakeFewerThreads) {
  testing::Rng rng{44};
  const auto threads = [&](Extent width, double kept, Index images) {
    ModelBuilder builder;
    const ValueId x = builder.input({kBatchExtent, 64, width, width});
    const auto convolved = [&](ValueId value) {
      return builder.add(testing::random_convolution(rng, 64, 64, testing::same_window(3, 3), kept), {value});
    };
    const ValueId y = convolved(convolved(x));
    const program::UsefulThreads useful = program::useful_threads(builder.finish({y}), images, 16);
    EXPECT_EQ(useful.seconds, 2 * useful.seconds_of_node);
    EXPECT_EQ(program::is_one_turn(useful.seconds), useful.count < 16) << useful.seconds;
    return useful.count;
  };
  EXPECT_EQ(threads(4, 1, 1), 1);
  EXPECT_EQ(threads(16, 1, 1), 11);  // 9.4 million products a node
  EXPECT_EQ(threads(16, 0.1, 1), 2);
  EXPECT_EQ(threads(16, 0.1, 5), 12);
  EXPECT_EQ(threads(64, 1, 1), 16);
}

TEST(Parts, ProgramsAreCompiledForThreadsThatAreUseful) {
  testing::Rng rng{45};
  ModelBuilder builder;
  const ValueId x = builder.input({kBatchExtent, 64, 4, 4});
  const ValueId y = builder.add(testing::random_convolution(rng, 64, 64, testing::same_window(3, 3), 1), {x});
  const Model model = builder.finish({y});
  EXPECT_EQ(program::compile_options(model, {.batch = 1, .threads = 2}, {}, nullptr).threads, 1);
  const auto says = [&](Index batch, int threads) {
    const Support support = program::support_of({}, model, {.batch = batch, .threads = threads}, nullptr);
    return std::pair(support.threads, support.remarks);
  };
  const std::string one_of_two = "computed by 1 of 2 threads, as a node with weights takes 15 us of one";
  EXPECT_EQ(says(1, 2), std::pair(1, std::vector{one_of_two}));
  EXPECT_EQ(says(1, 1), std::pair(0, std::vector<std::string>{})) << "it is as many as were asked for";
  EXPECT_EQ(says(4, 2), std::pair(0, std::vector<std::string>{})) << "four images occupy both";
}

TEST(Parts, FewerImagesThanABatchAreThoseOfAllThreadsToo) {
  using program::images_of_part;
  EXPECT_EQ(images_of_part({4, 16}, 64), 4U);
  EXPECT_EQ(images_of_part({4, 16}, 17), 2U);
  EXPECT_EQ(images_of_part({4, 16}, 4), 1U);
  EXPECT_EQ(images_of_part({32, 2}, 32), 16U);
  EXPECT_EQ(images_of_part({2, 2}, 32), 2U);
  EXPECT_EQ(images_of_part({64}, 32), 32U);
  EXPECT_EQ(images_of_part({4}, 32), 4U);
}

TEST(Arena, AChainTakesTheTwoLargestNeighboursAndNoMore) {
  const std::vector<Lifetime> chain{{640, 0, 1}, {1280, 1, 2}, {640, 2, 3}, {1280, 3, 4}, {64, 4, 5}};
  EXPECT_EQ(lay_out(chain).bytes, 1920);
  EXPECT_EQ(lay_out({}).bytes, 0);
}

/// Steps as text: nodes of a step joined by +.
std::string text(const Model& model, bool epilogues = true) {
  std::string all;
  for (const Step& step : steps_of(model, epilogues)) {
    all += (all.empty() ? "" : " ") + std::to_string(step.node);
    for (const Index fused : step.fused) all += "+" + std::to_string(fused);
  }
  return all;
}

class Steps : public ::testing::Test {
 protected:
  ValueId convolved(ValueId x) {
    return builder_.add(testing::random_convolution(rng_, 4, 4, testing::same_window(3, 3), 0.5), {x});
  }
  ValueId relu(ValueId x) { return builder_.add(Activation{}, {x}); }
  ValueId sum(ValueId a, ValueId b) { return builder_.add(Elementwise{}, {a, b}); }

  testing::Rng rng_{43};
  ModelBuilder builder_;
  ValueId x_ = builder_.input({kBatchExtent, 4, 5, 5});
};

TEST_F(Steps, ChainsAreFused) {
  const ValueId y = relu(convolved(relu(convolved(x_))));
  const Model model = builder_.finish({y});
  EXPECT_EQ(text(model), "0+1 2+3");
  EXPECT_EQ(text(model, false), "0 1 2 3");
}

TEST_F(Steps, TheLaterOfTwoConvolutionsTakesTheirAddition) {
  const ValueId a = convolved(x_);
  const ValueId b = convolved(a);
  const ValueId y = relu(sum(convolved(b), convolved(x_)));
  EXPECT_EQ(text(builder_.finish({y})), "0 1 2 3+4+5");
}

TEST_F(Steps, AnAdditionWaitsForItsOtherInput) {
  const ValueId a = convolved(x_);
  const ValueId pooled = builder_.add(Pool{.window = testing::same_window(3, 3)}, {x_});
  EXPECT_EQ(text(builder_.finish({sum(a, pooled)})), "1 0+2");
}

TEST_F(Steps, WhatIsReadTwiceIsStored) {
  const ValueId a = convolved(x_);
  const ValueId y = sum(relu(a), a);
  EXPECT_EQ(text(builder_.finish({y})), "0 1 2");
}

TEST_F(Steps, OutputsAreStored) {
  const ValueId a = convolved(x_);
  const ValueId y = relu(a);
  EXPECT_EQ(text(builder_.finish({y, a})), "0 1");
}

TEST_F(Steps, OneAdditionIsFusedAndNoneOfOtherShape) {
  const ValueId a = convolved(x_);
  const ValueId y = sum(sum(convolved(a), a), x_);
  const ValueId by_channel = builder_.constant(testing::random_tensor(rng_, {4, 1, 1}));
  const ValueId z = sum(convolved(y), by_channel);
  EXPECT_EQ(text(builder_.finish({z})), "0 1+2 3 4 5");
}

TEST_F(Steps, EachKindOfFunctionIsFusedOnce) {
  using Kind = Activation::Kind;
  const auto clip = [&](ValueId x, float high) { return builder_.add(testing::make_clip(0, high), {x}); };
  const auto leaky = [&](ValueId x) { return builder_.add(testing::make_activation(Kind::leaky_relu, 0.5F), {x}); };
  const ValueId a = clip(clip(convolved(x_), 6), 5);  // 0+1 2
  const ValueId b = leaky(relu(convolved(a)));        // 3+4 5
  const auto swish = [&](ValueId x) { return builder_.add(testing::make_activation(Kind::hard_swish), {x}); };
  const ValueId c = swish(clip(swish(convolved(b)), 6));  // 6+7+8 9
  EXPECT_EQ(text(builder_.finish({c})), "0+1 2 3+4 5 6+7+8 9");
}

TEST_F(Steps, TheNodesThatRoundAValueAreOneStep) {
  const ValueId a = relu(convolved(x_));
  Model model = builder_.finish({relu(convolved(a))});
  quantise_values(model, {{x_, {-1, 1}}, {a, {0, 1}}});
  EXPECT_EQ(text(model), "0+1+2+3 4+5 6+7+8+9 10+11");
  EXPECT_EQ(text(model, false), "0 1 2 3 4 5 6 7 8 9 10 11");
  model.outputs.push_back(model.nodes[8].output);  // the whole numbers
  EXPECT_EQ(text(model), "0+1+2+3 4+5 6 7 8 9 10+11");
}

TEST_F(Steps, OneLineIsFused) {
  const auto with = [&](Elementwise::Kind kind, ValueId x) {
    return builder_.add(Elementwise{kind}, {x, builder_.constant(testing::make_tensor({1}, {0.5F}))});
  };
  using Kind = Elementwise::Kind;
  const ValueId a = with(Kind::subtract, with(Kind::add, with(Kind::multiply, convolved(x_))));  // 0+1+2+3
  const ValueId b = with(Kind::multiply, with(Kind::add, convolved(a)));                         // 4+5 6
  const ValueId c = with(Kind::add, relu(with(Kind::multiply, convolved(b))));                   // 7+8+9 10
  const ValueId d = with(Kind::divide, convolved(c));                                            // 11 12
  EXPECT_EQ(text(builder_.finish({d})), "0+1+2+3 4+5 6 7+8+9 10 11 12");
}

TEST_F(Steps, ALineHasTheNumberAndTheSignOfItsNode) {
  using Kind = Elementwise::Kind;
  const auto line = [&](Kind kind, bool first, const std::vector<float>& numbers) {
    ModelBuilder builder;
    const ValueId x = builder.input({kBatchExtent, 2});
    const ValueId number = builder.constant(testing::make_tensor({static_cast<Extent>(numbers.size())}, numbers));
    const ValueId y = builder.add(Elementwise{kind}, first ? std::vector{number, x} : std::vector{x, number});
    const Model model = builder.finish({y});
    const auto found = line_of(model, model.nodes[0]);
    EXPECT_EQ(adds_value(model, model.nodes[0]), !found);
    return found ? std::vector{found->slope, found->offset} : std::vector<float>{};
  };
  for (const bool first : {false, true}) {
    EXPECT_EQ(line(Kind::multiply, first, {3}), (std::vector<float>{3, 0}));
    EXPECT_EQ(line(Kind::add, first, {3}), (std::vector<float>{1, 3}));
    EXPECT_EQ(line(Kind::subtract, first, {3}), first ? (std::vector<float>{-1, 3}) : (std::vector<float>{1, -3}));
    EXPECT_TRUE(line(Kind::divide, first, {3}).empty());
    EXPECT_TRUE(line(Kind::add, first, {3, 4}).empty()) << "two numbers";
  }
}

/// A sum with one number that has more axes has these axes, too.
TEST_F(Steps, ALineThatAddsAxesStandsAlone) {
  for (const Shape& number : {Shape{1, 1}, Shape{1, 1, 1}}) {
    ModelBuilder builder;
    const ValueId x = builder.input({2, 3});
    const ValueId y = builder.add(testing::random_linear(rng_, 3, 4, 1), {x});
    const ValueId constant = builder.constant(testing::make_tensor(number, {0.5F}));
    EXPECT_EQ(text(builder.finish({builder.add(Elementwise{}, {y, constant})})), number.size() == 2 ? "0+1" : "0 1");
  }
}

TEST_F(Steps, OtherActivationsStandAlone) {
  const ValueId y = builder_.add(testing::make_activation(Activation::Kind::sigmoid), {convolved(x_)});
  EXPECT_EQ(text(builder_.finish({y})), "0 1");
}

}  // namespace
}  // namespace spdnn
