// The plain loops against the fp64 reference, where windows, axes or numbers are special.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "engines/cpu/plain/loops.hpp"
#include "engines/cpu/plain/pools.hpp"
#include "model/oracle/evaluate.hpp"
#include "support/models.hpp"

namespace spdnn::plain {
namespace {

using Floats = std::vector<float>;

Bounded expected(const Operation& operation, const Tensor& x) {
  const Bounded given = exactly(x);
  return evaluate(operation, {&given});
}

Floats turned(const Shape& from, const Floats& values, const std::vector<Index>& order) {
  Floats made(values.size());
  transpose({order}, from, values.data(), made.data());
  return made;
}

TEST(PlainLoops, PoolsWithAnyWindowAreThoseOfTheReferenceInBothOrders) {
  testing::Rng rng(3);
  const Window plain{.kernel = {2, 2}, .stride = {2, 2}};
  Window dilated = plain;
  dilated.dilation = {2, 2};
  Window before = plain;
  before.pad_begin = {1, 1};
  Window far{.kernel = {1, 2}, .stride = {1, 3}, .pad_begin = {0, 1}};
  Window around{.kernel = {3, 3}, .stride = {2, 1}, .pad_begin = {1, 0}, .pad_end = {1, 2}};
  const Window apart{.kernel = {2, 2}, .stride = {3, 2}};
  const Window beside{.kernel = {2, 2}, .stride = {2, 3}};
  for (const Window& window : {plain, dilated, before, far, around, apart, beside})
    for (const Pool::Kind kind : {Pool::Kind::max, Pool::Kind::average})
      for (const bool on : {false, true})
        for (const Shape& from : {Shape{2, 3, 4, 5}, Shape{1, 2, 5, 4}, Shape{1, 1, 4, 4}}) {
          const Pool of{.kind = kind, .window = window, .round_up = on, .count_padding = on};
          const Tensor x = testing::random_tensor(rng, from);
          const Bounded y = expected(of, x);
          Floats found(y.values.size());
          pool(of, from, y.shape, x.values.data(), found.data());
          EXPECT_LE(largest_ratio(y, found), 1) << shape_text(from) << window.dilation[0] << window.pad_begin[0] << on;
          const Floats innermost = turned(from, {x.values.begin(), x.values.end()}, {0, 2, 3, 1});
          pool_channels(of, from, y.shape, innermost.data(), found.data());
          const Shape made{y.shape[0], y.shape[2], y.shape[3], y.shape[1]};
          EXPECT_LE(largest_ratio(y, turned(made, found, {0, 3, 1, 2})), 1) << "channels innermost";
        }
}

TEST(PlainLoops, WhatIsNoNumberStaysSoInBothOperandsOfAnExtreme) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const Floats a{kNan, 1, 2};
  const Floats b{1, kNan, 3};
  for (const auto kind : {Elementwise::Kind::maximum, Elementwise::Kind::minimum}) {
    Floats found(3);
    elementwise(kind, {Shape{3}, Shape{3}, Shape{3}}, a.data(), b.data(), found.data());
    EXPECT_TRUE(std::isnan(found[0]));
    EXPECT_TRUE(std::isnan(found[1]));
    EXPECT_EQ(found[2], kind == Elementwise::Kind::maximum ? 3 : 2);
  }
}

TEST(PlainLoops, PaddingMayLeaveNothingOfTheInput) {
  const Tensor x{{2, 3}, Floats{1, 2, 3, 4, 5, 6}};
  for (const Pad& of : {Pad{{-3, 0}, {4, 0}, 7}, Pad{{0, 4}, {0, -4}, 7}, Pad{{-1, 1}, {1, -2}, 7}}) {
    const Bounded y = expected(of, x);
    Floats found(y.values.size());
    pad(of, x.shape, x.values.data(), found.data());
    EXPECT_EQ(largest_ratio(y, found), 0);
  }
}

TEST(PlainLoops, ASoftmaxOfLargeNumbersIsFiniteWhereverTheLargestIs) {
  for (const Floats& x : {Floats{200, 0, -5}, Floats{0, 200, -5}, Floats{-5, 0, 200}, Floats{-200, -300, -400}}) {
    const Bounded y = expected(Softmax{1}, {{1, 3}, x});
    Floats found(3);
    softmax({1, 3}, 1, x.data(), found.data());
    EXPECT_LE(largest_ratio(y, found), 1) << x[0];
  }
}

TEST(PlainLoops, OneAxisIsTransposedToItself) { EXPECT_EQ(turned({3}, {1, 2, 3}, {0}), (Floats{1, 2, 3})); }

TEST(PlainLoops, OneSlopeIsForAllChannels) {
  const Activation prelu{.kind = Activation::Kind::prelu, .alpha = 9, .alphas = {0.5F}};
  const Floats x{-2, 2};
  Floats found(2);
  activate(prelu, {1, 2}, false, x.data(), found.data());
  EXPECT_EQ(found, (Floats{-1, 2}));
}

/// Two images of ten channels and three pixels, in blocks of eight channels.
TEST(PlainLoops, FactorsOfEachImageMeetItsBlocksAndUnusedChannelsAreZero) {
  const Channels shape{.images = 2, .channels = 10, .pixels = 3, .together = 8, .of_each_image = true};
  Floats factors;
  for (int i = 0; i < 20; ++i) factors.push_back(static_cast<float>(i + 1));
  const Floats images(2 * 2 * 3 * 8, 1);
  Floats found(images.size(), 99);
  with_channels(Elementwise::Kind::multiply, shape, images.data(), factors.data(), found.data());
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::size_t channel = i / 24 % 2 * 8 + i % 8;
    EXPECT_EQ(found[i], channel < 10 ? factors[i / 48 * 10 + channel] : 0) << i;
  }
}

}  // namespace
}  // namespace spdnn::plain
