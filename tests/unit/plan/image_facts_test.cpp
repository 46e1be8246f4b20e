// Facts about images, and about two sets of images together.

#include "plan/image_facts.hpp"

#include <gtest/gtest.h>

#include "support/networks.hpp"

namespace spdnn {
namespace {

/// What is asked of values: images as rows of them.
ImageFacts of_rows(const testing::Rows& rows, bool uniform = false) {
  return facts_of(ImageSet{testing::make_matrix(9, rows, uniform)});
}

TEST(ImageFacts, OfBitsAreNotLookedUp) {
  testing::Rng rng(3);
  const ImageSet images = testing::bit_images(rng, 40, 70, 0.5);
  const ImageFacts expected{.images = 40, .neurons = 70, .bytes = images.bytes(), .largest = 1};
  EXPECT_EQ(facts_of(images), expected);
}

TEST(ImageFacts, OfValuesAreThoseOfAllImages) {
  const ImageFacts facts = of_rows({{{8, 0.5F}}, {{0, 1.F}, {3, 0.25F}, {4, 0.5F}}, {}, {{2, 0.5F}, {5, 0.75F}}});
  EXPECT_EQ(facts.images, 4U);
  EXPECT_EQ(facts.neurons, 9U);
  EXPECT_FALSE(facts.bits);
  EXPECT_FALSE(facts.binary);
  EXPECT_TRUE(facts.within_unit);
  EXPECT_EQ(facts.largest, 1);
  EXPECT_EQ(facts.most_entries, 3U);
  EXPECT_FALSE(facts.repeats);
}

TEST(ImageFacts, ValuesOutsideTheUnitAreSeenOnEitherSide) {
  for (const float value : {-0.125F, 1.125F, -3.F}) {
    const ImageFacts facts = of_rows({{{1, 0.5F}}, {{2, 0.F}, {4, value}, {6, 0.0625F}}});
    EXPECT_FALSE(facts.within_unit) << value;
    EXPECT_EQ(facts.largest, std::max(0.5, std::abs(double{value}))) << value;
  }
  EXPECT_TRUE(of_rows({{{1, 0.F}, {2, 1.F}}}).within_unit);
}

TEST(ImageFacts, OneValueStandsForAll) {
  for (const auto& [value, inside] : {std::pair{0.5F, true}, {1.F, true}, {0.F, true}, {2.F, false}, {-2.F, false}}) {
    const ImageFacts facts = of_rows({{{1, value}}, {{0, value}, {7, value}}}, true);
    EXPECT_EQ(facts.within_unit, inside) << value;
    EXPECT_EQ(facts.largest, std::abs(double{value})) << value;
    EXPECT_EQ(facts.binary, value == 1) << value;
  }
  CsrMatrix empty = testing::make_matrix(9, testing::Rows(3), true);
  empty.value = -4;  // of no entry
  const ImageFacts facts = facts_of(ImageSet{std::move(empty)});
  EXPECT_TRUE(facts.within_unit);
  EXPECT_EQ(facts.largest, 0);
}

TEST(ImageFacts, ANeuronMayBeNamedTwiceWhereEntriesDoNotAscend) {
  EXPECT_TRUE(of_rows({{{1, 1.F}}, {{2, 1.F}, {5, 1.F}, {5, 1.F}}}).repeats);
  EXPECT_TRUE(of_rows({{{5, 1.F}, {2, 1.F}, {5, 1.F}}, {{1, 1.F}}}).repeats);
  EXPECT_FALSE(of_rows({{{5, 1.F}}, {{5, 1.F}}, {{2, 1.F}}}).repeats) << "of one image";
}

TEST(ImageFacts, OfTwoSetsAreThoseOfBothTogether) {
  const ImageFacts low{.images = 3, .neurons = 9, .bytes = 100, .bits = false, .largest = 0.5, .most_entries = 4};
  const auto joined = [&](const ImageFacts& other) {
    EXPECT_EQ(join_facts(low, other), join_facts(other, low));
    return join_facts(low, other);
  };
  ImageFacts other = low;
  other.images = 5;
  other.bytes = 20;
  ImageFacts expected = low;
  expected.images = 8;
  expected.bytes = 120;
  EXPECT_EQ(joined(other), expected);
  const auto change = [&](auto member, auto value) {
    ImageFacts changed = other;
    changed.*member = value;
    ImageFacts both = expected;
    both.*member = value;
    EXPECT_EQ(joined(changed), both);
  };
  change(&ImageFacts::binary, false);
  change(&ImageFacts::within_unit, false);
  change(&ImageFacts::largest, 7.0);
  change(&ImageFacts::most_entries, Offset{6});
  change(&ImageFacts::repeats, true);
  other.bits = true;
  EXPECT_EQ(joined(other), expected) << "not all are bits";
}

TEST(ImageFacts, OfNoImagesChangeNothing) {
  const ImageFacts some{.images = 3,
                        .neurons = 9,
                        .bytes = 100,
                        .bits = false,
                        .binary = false,
                        .within_unit = false,
                        .largest = 5,
                        .most_entries = 4,
                        .repeats = true};
  const ImageFacts none{.neurons = 9, .bytes = 8, .bits = false, .largest = 8, .most_entries = 9, .repeats = true};
  const ImageFacts bits{.images = 2, .neurons = 9, .bytes = 16, .largest = 1};
  for (const ImageFacts& facts : {some, bits}) {
    EXPECT_EQ(join_facts(none, facts), facts);
    EXPECT_EQ(join_facts(facts, none), facts);
    EXPECT_EQ(join_facts({}, facts), facts);
  }
}

}  // namespace
}  // namespace spdnn
