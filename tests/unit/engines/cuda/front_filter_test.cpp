// The filter of `front_kernel`: its error bound, checked by sums in both arithmetics, and the plans that have one.

#include "engines/cuda/cascade/front_filter.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "data/generate.hpp"
#include "plan/planner.hpp"
#include "support/networks.hpp"
#include "support/sampled.hpp"
#include "support/shifted_network.hpp"

namespace spdnn {
namespace {

struct FilteredFront {
  Front front;
  std::optional<FrontFilter> filter;
  float cap;
};

FilteredFront filtered_front(const Network& network, const std::string& passes = "saturated,dead") {
  const Plan plan = make_plan(network, parse_passes(passes));
  const CascadeProgram program = compile_cascade(plan);
  FilteredFront found{
      .front = find_front(program, plan).value(), .filter = {}, .cap = static_cast<float>(plan.cap.value())};
  found.filter = find_filter(found.front, program, plan);
  return found;
}

/// The deciding sums of a layer of one image.
struct LayerSums {
  float largest;              ///< in fp32, as the front adds them
  std::int64_t whole;         ///< the largest of the filter's
  std::int64_t apart;         ///< largest difference between S times an fp32 sum and the integer sum, rounded up
  std::int64_t largest_pair;  ///< of the filter's integers
};

/// Follows an image from its counts through all layers, in both arithmetics.
std::vector<LayerSums> follow(const FilteredFront& in, const std::vector<Index>& counts) {
  const Front& front = in.front;
  const FrontFilter& filter = in.filter.value();
  const Index n = front.neurons;
  std::vector<float> values(n);
  std::vector<std::int64_t> wholes(n);
  for (Index c = 0; c < n; ++c) {
    values[c] = front.activations[counts[c]];
    wholes[c] = std::clamp<std::int64_t>(std::int64_t{counts[c]} * filter.weight - filter.steps[0].bias, 0, filter.cap);
  }
  std::vector<LayerSums> layers;
  for (std::size_t number = 1; number < front.steps.size(); ++number) {
    const FrontLayer& layer = front.steps[number];
    LayerSums sums{-INFINITY, -std::int64_t{kFilterMost}, 0, 0};
    std::vector<float> next(n);
    std::vector<std::int64_t> whole_next(n);
    for (Index c = 0; c < n; ++c) {
      const Index other = (c + layer.shift) % n;
      const float first = values[std::min(c, other)];
      const float second = values[std::max(c, other)];
      float z = 0;
      for (Index pair = 0; pair < layer.pairs; ++pair)
        z = std::fmaf(second, layer.weight, std::fmaf(first, layer.weight, z));
      z += layer.bias;
      const std::int64_t pair = wholes[c] + wholes[other];
      const std::int64_t whole = pair - filter.steps[number].bias;
      sums.largest = std::max(sums.largest, z);
      sums.whole = std::max(sums.whole, whole);
      const double apart = std::abs(static_cast<double>(z) * filter.scale - static_cast<double>(whole));
      sums.apart = std::max(sums.apart, static_cast<std::int64_t>(std::ceil(apart)));
      sums.largest_pair = std::max(sums.largest_pair, pair);
      next[c] = std::min(std::max(z, 0.0F), in.cap);
      whole_next[c] = std::clamp<std::int64_t>(whole, 0, filter.cap);
    }
    values = next;
    wholes = whole_next;
    layers.push_back(sums);
  }
  return layers;
}

/// Counts that resemble those of neighbouring classes, as in pictures; some images have equal counts everywhere.
std::vector<Index> smooth_counts(Index neurons, Index most, testing::Rng& rng) {
  std::vector<Index> counts(neurons);
  const Index levels = 1 + static_cast<Index>(rng.below(6));
  auto level = static_cast<Index>(rng.below(most + 1));
  for (Index c = 0; c < neurons; ++c) {
    if (rng.below(neurons / 8) == 0) level = static_cast<Index>(rng.below(most + 1));
    counts[c] = std::min(most, level + static_cast<Index>(rng.below(levels)));
  }
  return counts;
}

struct Decided {
  Index dead = 0;
  Index alive = 0;
  Index not_decided = 0;
};

/// Checks the bound and what follows from it on images of all kinds.
Decided decide_images(const FilteredFront& in, Index images) {
  Decided decided;
  const auto most = static_cast<Index>(in.front.activations.size() - 1);
  for (Index image = 0; image < images; ++image) {
    testing::Rng rng(image);
    const std::vector<LayerSums> layers = follow(in, smooth_counts(in.front.neurons, 1 + image % most, rng));
    for (std::size_t k = 0; k < layers.size(); ++k) {
      const std::int64_t margin = in.filter->steps[k + 1].margin;
      const LayerSums& sums = layers[k];
      EXPECT_LE(sums.apart, margin) << "image " << image << ", layer " << k + 1;
      EXPECT_LE(sums.largest_pair + margin, kFilterMost);
      if (sums.whole <= -margin) {
        EXPECT_LE(sums.largest, 0) << "image " << image << ", layer " << k + 1;
        ++decided.dead;
        break;
      }
      if (sums.whole < margin) {
        ++decided.not_decided;
        break;
      }
      EXPECT_GT(sums.largest, 0) << "image " << image << ", layer " << k + 1;
      if (k + 1 == layers.size()) ++decided.alive;
    }
  }
  return decided;
}

TEST(FrontFilter, DecidesImagesOfOfficialNetworks) {
  for (const Index neurons : {1024U, 4096U}) {
    const FilteredFront in = filtered_front(generate_official_network(neurons, 12), "twins,unused,saturated,dead");
    ASSERT_TRUE(in.filter) << neurons;
    const Decided decided = decide_images(in, 400);
    EXPECT_GT(decided.dead, 100U) << neurons;
    EXPECT_GT(decided.alive, 50U) << neurons;
    EXPECT_LT(decided.not_decided, 20U) << neurons;
  }
}

/// Biases that are not multiples of a small fraction, weights whose sums are not quite 1, and a cap between two
/// integers.
TEST(FrontFilter, BoundsErrorsOfAnyNumbers) {
  Index dead = 0;
  Index alive = 0;
  for (const testing::Shifts& shifts : testing::shifts_of_all_widths()) {
    if (!testing::powers_of_two(shifts)) continue;
    Network network = testing::shifted_network(shifts);
    for (std::size_t k = 0; k < network.layers.size(); ++k) {
      network.layers[k].weights.value = k % 2 == 0 ? 0.2503F : 0.2499F;
      network.layers[k].bias.uniform = -0.7071067 / static_cast<double>(k + 1);
    }
    network.cap = 3.14159;
    const FilteredFront in = filtered_front(network);
    ASSERT_TRUE(in.filter) << shifts.neurons;
    const Decided decided = decide_images(in, testing::sampled(70U, 200U));
    dead += decided.dead;
    alive += decided.alive;
  }
  EXPECT_GT(dead, testing::sampled(35U, 100U));
  EXPECT_GT(alive, testing::sampled(35U, 100U));
}

/// Where fp32 and the filter's integers are both exact, their sums are equal, and a margin of one unit remains.
TEST(FrontFilter, ExactSumsHaveTheLeastMargin) {
  const FilteredFront in = filtered_front(testing::shifted_network(testing::shifts_of_all_widths()[0]));
  ASSERT_TRUE(in.filter);
  for (std::size_t number = 1; number < in.filter->steps.size(); ++number)
    EXPECT_EQ(in.filter->steps[number].margin, 1U);
}

/// Official images have about a tenth of their pixels lit.
TEST(FrontFilter, KnowsFromTheShareOfLitPixelsWhetherFewImagesDie) {
  const FilteredFront in = filtered_front(generate_official_network(1024, 12), "twins,unused,saturated,dead");
  ASSERT_TRUE(in.filter);
  EXPECT_TRUE(even_image_dies(in.front, *in.filter, 0.0));
  EXPECT_TRUE(even_image_dies(in.front, *in.filter, 0.1));
  EXPECT_FALSE(even_image_dies(in.front, *in.filter, 0.5));
  EXPECT_FALSE(even_image_dies(in.front, *in.filter, 1.0));
}

TEST(FrontFilter, StandsAsideWhereItCannotBound) {
  const Network network = testing::shifted_network(testing::shifts_of_all_widths()[0]);
  EXPECT_TRUE(filtered_front(network).filter);
  EXPECT_FALSE(filtered_front(network, "saturated").filter) << "zero images do not retire";
  EXPECT_FALSE(filtered_front(testing::shifted_network(testing::shifts_of_all_widths()[1])).filter) << "a shift of 6";

  Network other = network;
  other.bias_rule = BiasRule::everywhere;
  other.layers[4].bias.uniform = 0.5;
  EXPECT_FALSE(filtered_front(other, "dead").filter) << "zero images live again";

  other = network;
  other.layers[2].weights.value = 0.37F;
  EXPECT_FALSE(filtered_front(other).filter) << "sums are far from those of the inputs";

  other = network;
  for (const double cap : {0x1p13, 0x1p14}) {
    other.cap = cap;
    EXPECT_FALSE(filtered_front(other).filter) << "sums need more than 16 bits, or do with their margin";
  }

  other = network;
  other.layers[2].bias.uniform = -0x1p15;
  EXPECT_FALSE(filtered_front(other).filter) << "a bias needs more than 16 bits";
}

}  // namespace
}  // namespace spdnn
