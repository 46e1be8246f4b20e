// Outputs compared with expected ones: the largest of all images, tolerances of each output, and what is counted.

#include "inference/model/comparer.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace spdnn {
namespace {

/// What one image has of an output.
struct ImageNumbers {
  std::vector<float> found;
  std::vector<double> expected;
  std::vector<double> bounds;
};

Compared view(const ImageNumbers& numbers) { return {numbers.found, numbers.expected, numbers.bounds}; }

OutputComparer plain(const std::string& name, std::size_t numbers) { return {name, std::vector<bool>(numbers)}; }

/// The check of one output of two numbers, image by image.
OutputCheck check_of_images(const std::vector<ImageNumbers>& images, double factor = 1, bool probabilities = false) {
  OutputComparer comparer("y", std::vector<bool>(2, probabilities));
  for (const ImageNumbers& image : images) comparer.add(view(image));
  return comparer.take(factor).first;
}

/// Each of them is largest in another image, and in another order of the two.
TEST(OutputComparer, HasTheLargestOfAllImages) {
  const ImageNumbers off{{1, 3}, {1, 2}, {0.5, 0.5}};
  const ImageNumbers loose{{1, 1}, {1, 1}, {4, 0.25}};
  const ImageNumbers large{{-16, 1}, {-16, 1}, {0.25, 0.25}};
  for (const auto& images :
       {std::vector{off, loose, large}, std::vector{large, loose, off}, std::vector{loose, off, large}}) {
    const OutputCheck check = check_of_images(images);
    EXPECT_EQ(check.name, "y");
    EXPECT_EQ(check.largest_ratio, 2);
    EXPECT_EQ(check.largest_deviation, 1);
    EXPECT_EQ(check.largest_bound, 4);
    EXPECT_EQ(check.largest_expected, 16);
    EXPECT_DOUBLE_EQ(check.tolerance, OutputCheck::kTolerance * 16);
    EXPECT_DOUBLE_EQ(check.largest_excess, 1 / (OutputCheck::kTolerance * 16));
  }
}

TEST(OutputComparer, WidensTheToleranceByAFactorUpToAMost) {
  const ImageNumbers off{{1, 3}, {1, 2}, {8, 8}};
  for (const bool probabilities : {false, true}) {
    const OutputCheck one = check_of_images({off}, 1, probabilities);
    const OutputCheck four = check_of_images({off}, 4, probabilities);
    const OutputCheck most = check_of_images({off}, 2 * OutputCheck::kMostDecided, probabilities);
    EXPECT_EQ(one.widened, 1);
    EXPECT_EQ(four.widened, 4);
    EXPECT_EQ(most.widened, OutputCheck::kMostDecided);
    EXPECT_DOUBLE_EQ(four.tolerance, 4 * one.tolerance);
    EXPECT_DOUBLE_EQ(four.largest_excess, one.largest_excess / 4) << probabilities;
    EXPECT_DOUBLE_EQ(most.largest_excess, one.largest_excess / OutputCheck::kMostDecided);
    EXPECT_FALSE(check_of_images({off}, OutputCheck::kMostDecided, probabilities).undecided);
    EXPECT_TRUE(most.undecided);
  }
}

/// Two outputs of one number, and two images of which the second is off by `first` and `second`.
LogitCheck check_of_two(float first, float second, const std::vector<double>& widened) {
  Comparer comparer("given", 0, {plain("a", 1), plain("b", 1)});
  const ImageNumbers right{{1}, {1}, {10}};
  comparer.add(4, {view(right), view(right)});
  const ImageNumbers one{{1 + first}, {1}, {10}};
  const ImageNumbers other{{1 + second}, {1}, {10}};
  comparer.add(5, {view(one), view(other)});
  return comparer.take(widened);
}

TEST(Comparer, EachOutputHasItsOwnTolerance) {
  const float off = 2.5F * static_cast<float>(OutputCheck::kTolerance);
  EXPECT_EQ(check_of_two(0, 0, {}).beyond, 0U);
  EXPECT_EQ(check_of_two(off, 0, {}).beyond, 1U);
  EXPECT_EQ(check_of_two(0, off, {}).beyond, 1U);
  EXPECT_EQ(check_of_two(off, off, {}).beyond, 1U) << "one image";
  EXPECT_EQ(check_of_two(off, 0, {5, 1}).beyond, 0U);
  EXPECT_EQ(check_of_two(off, 0, {1, 5}).beyond, 1U);
  EXPECT_EQ(check_of_two(0, off, {1, 5}).beyond, 0U);
  EXPECT_EQ(check_of_two(0, off, {5, 1}).beyond, 1U);
  EXPECT_EQ(check_of_two(0, off, {}).first_ids, std::vector<Index>{6});
  EXPECT_EQ(check_of_two(0, off, {}).images, 2U);
  EXPECT_EQ(check_of_two(off, 0, {}).worst().name, "a");
  EXPECT_EQ(check_of_two(0, off, {}).worst().name, "b");
}

/// Beyond a tolerance that could not be widened as far as it should, nothing is decided.
TEST(Comparer, WhatRoundingMayMoveAnywhereIsUndecidedAndNotWrong) {
  const double too_much = 2 * OutputCheck::kMostDecided;
  const float off = 4 * static_cast<float>(OutputCheck::kTolerance * OutputCheck::kMostDecided);
  const LogitCheck undecided = check_of_two(off, 0, {too_much, 1});
  EXPECT_EQ(undecided.undecided, 1U);
  EXPECT_EQ(undecided.beyond + undecided.outside, 0U);
  EXPECT_TRUE(undecided.first_ids.empty());
  const LogitCheck wrong = check_of_two(off, off, {too_much, 1});
  EXPECT_EQ(wrong.undecided, 0U) << "the other output is wrong";
  EXPECT_EQ(wrong.beyond, 1U);
  EXPECT_EQ(check_of_two(20, 0, {too_much, 1}).outside, 1U) << "beyond the bound";
  EXPECT_EQ(check_of_two(0, 20, {1, 1}).outside, 1U) << "beyond the bound of the second output";
}

/// Images of two numbers, of which the second is expected to be larger by 1.
LogitCheck check_of_predictions(const std::vector<double>& bounds, Index classes) {
  Comparer comparer("given", classes, {plain("y", 2)});
  const ImageNumbers same{{0, 1}, {0, 1}, bounds};
  const ImageNumbers other{{1, 0}, {0, 1}, bounds};
  comparer.add(7, {view(other)});
  comparer.add(8, {view(same)});
  return comparer.take();
}

TEST(Comparer, APredictionThatDiffersIsANearTieWithinBothBounds) {
  for (const auto& bounds : {std::vector{0.75, 0.25}, std::vector{0.25, 0.75}}) {
    const LogitCheck tie = check_of_predictions(bounds, 2);
    EXPECT_EQ(tie.differing, 1U);
    ASSERT_EQ(tie.near_ties.size(), 1U);
    EXPECT_EQ(tie.near_ties[0].image, 7U);
    EXPECT_EQ(tie.near_ties[0].found, 0U);
    EXPECT_EQ(tie.near_ties[0].expected, 1U);
  }
  EXPECT_EQ(check_of_predictions({0.5, 0.25}, 2).differing, 1U);
  EXPECT_TRUE(check_of_predictions({0.5, 0.25}, 2).near_ties.empty());
  EXPECT_EQ(check_of_predictions({0.5, 0.5}, 0).differing, 0U) << "no classes";
}

TEST(Comparer, NamesTheFirstTenImagesThatAreWrong) {
  Comparer comparer("given", 0, {plain("y", 1)});
  const ImageNumbers wrong{{2}, {1}, {0.5}};
  for (Index image = 0; image < 12; ++image) comparer.add(image, {view(wrong)});
  const LogitCheck check = comparer.take();
  EXPECT_EQ(check.outside, 12U);
  EXPECT_EQ(check.first_ids, (std::vector<Index>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
}

}  // namespace
}  // namespace spdnn
