// The common weight of all edges of a layer may be multiplied last where that makes no difference: the same network
// with its weights stored one by one must give the same bits, whatever the size of its numbers.

#include "engines/cpu/tiles/common_factor.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "support/battery.hpp"

namespace spdnn {
namespace {

using tiles::common_factors;

/// Layers of eight neurons with three terms each, all with one weight.
Network network_of_one_weight(float weight, int layers, double bias, bool uniform) {
  testing::Rng rng(3);
  Network network;
  for (int k = 0; k < layers; ++k)
    network.layers.push_back(testing::make_layer(8, testing::random_rows(rng, 8, 8, 3, weight, weight), bias, uniform));
  return network;
}

/// Images with values around `size` that have odd last places.
ImageSet images_around(double size) {
  testing::Rng rng(4);
  testing::Rows rows(20);
  for (auto& row : rows)
    for (Index i = 0; i < 8; ++i) row.emplace_back(i, static_cast<float>(rng.real(0.5, 1) * size));
  return {testing::make_matrix(8, rows)};
}

ImageSet bits() {
  testing::Rng rng(5);
  return testing::bit_images(rng, 20, 8, 0.6);
}

std::vector<std::vector<double>> trace(const Network& network, const ImageSet& images, Precision precision) {
  const Plan plan = testing::unreduced_plan(network);
  const auto engine =
      testing::engine_for(find_variant("cpu_openmp"), plan, images, {.precision = precision, .threads = 1});
  engine->load(images);
  std::vector<std::vector<double>> layers;
  for (Index k = 0; k < plan.depth(); ++k) {
    engine->advance(k, k + 1);
    layers.push_back(engine->activations());
  }
  return layers;
}

TEST(CommonFactor, GivesTheBitsOfWeightsStoredOneByOne) {
  for (const float weight : {0x1p-1F, 0x1p-4F, 0x1p-20F, 0x1p-100F, 0x1p-149F, -0x1p-3F, 2.0F, 0x1p60F, 0x1p127F}) {
    for (const double size : {1e-45, 1e-39, 1e-30, 1.0, 1e20, 3e38}) {
      for (const double bias : {0.0, -1e-42, -0.3, 1e-40, 0.25}) {
        for (const Precision precision : {Precision::fp32, Precision::fp64}) {
          for (const bool ones : {true, false}) {
            const ImageSet images = ones ? bits() : images_around(size);
            Network network = network_of_one_weight(weight, 3, bias, true);
            Network one_by_one = network_of_one_weight(weight, 3, bias, false);
            network.cap = one_by_one.cap = size > 1 ? std::nullopt : std::optional(32.0);
            const auto found = trace(network, images, precision);
            const auto expected = trace(one_by_one, images, precision);
            for (std::size_t k = 0; k < found.size(); ++k)
              for (std::size_t i = 0; i < found[k].size(); ++i)
                ASSERT_TRUE(found[k][i] == expected[k][i] || (std::isnan(found[k][i]) && std::isnan(expected[k][i])))
                    << "weight " << weight << ", images around " << size << ", bias " << bias << ", layer " << k + 1
                    << ": " << found[k][i] << " is not " << expected[k][i];
          }
        }
      }
    }
  }
}

/// Activations fall through all normal and subnormal numbers.
TEST(CommonFactor, GivesTheSameBitsDownToTheSmallestNumbers) {
  for (const Precision precision : {Precision::fp32, Precision::fp64}) {
    const int layers = precision == Precision::fp32 ? 70 : 460;
    for (const bool ones : {true, false}) {
      const ImageSet images = ones ? bits() : images_around(1);
      const auto found = trace(network_of_one_weight(0.0625F, layers, 0, true), images, precision);
      EXPECT_EQ(found, trace(network_of_one_weight(0.0625F, layers, 0, false), images, precision));
      const auto lit = [](const std::vector<double>& row) { return *std::max_element(row.begin(), row.end()) > 0; };
      EXPECT_TRUE(lit(found[precision == Precision::fp32 ? 55 : 420]));
      EXPECT_FALSE(lit(found.back()));
    }
  }
}

std::vector<bool> factors(const Network& network, const ImageSet& images) {
  return common_factors<float>(testing::unreduced_plan(network), images);
}

TEST(CommonFactor, IsTakenInNetworksOfUsualSize) {
  const auto all = [](const std::vector<bool>& once) {
    return std::find(once.begin(), once.end(), false) == once.end();
  };
  Network official = network_of_one_weight(0.0625F, 1920, -0.45, true);
  EXPECT_TRUE(all(factors(official, bits())));
  official.cap.reset();
  EXPECT_TRUE(all(factors(official, bits())));
  EXPECT_TRUE(all(factors(network_of_one_weight(0.0625F, 500, -0.3, true), images_around(1))));
  EXPECT_TRUE(all(factors(network_of_one_weight(0.0625F, 37, 0, true), bits()))) << "2^-148";
  EXPECT_FALSE(all(factors(network_of_one_weight(0.0625F, 38, 0, true), bits()))) << "2^-152";
  EXPECT_TRUE(common_factors<double>(testing::unreduced_plan(network_of_one_weight(0.0625F, 38, 0, true)), bits())[37]);
}

TEST(CommonFactor, IsNotTakenWhereItWouldShow) {
  const auto first = [](float weight, double bias, std::optional<double> cap, const ImageSet& images) {
    Network network = network_of_one_weight(weight, 2, bias, true);
    network.cap = cap;
    return factors(network, images);
  };
  EXPECT_FALSE(first(0.3F, -0.3, 32.0, bits())[0]) << "no power of two";
  EXPECT_FALSE(first(0x1p-10F, 0, 32.0, images_around(3e38))[0]) << "the plain sum overflows";
  EXPECT_FALSE(first(0x1p127F, 0, 32.0, images_around(4))[0]) << "so do the products";
  EXPECT_FALSE(first(0x1p-10F, 0, std::nullopt, images_around(1e-35))[0]) << "subnormal products";
  const ImageSet mixed{testing::make_matrix(8, {{{0, -1.0F}, {1, 1e-35F}}, {{0, 1.0F}}})};
  EXPECT_FALSE(first(0x1p-10F, 0, std::nullopt, mixed)[0]) << "beside a large negative number, too";
  EXPECT_FALSE(first(0x1p-10F, 1e-40, 32.0, bits())[1]) << "after a small positive bias";
  EXPECT_TRUE(first(0x1p-10F, -1e-34, 32.0, bits())[1]);
  EXPECT_FALSE(first(0x1p-10F, -1e-35, 32.0, bits())[1]) << "after a small negative one";
  EXPECT_FALSE(first(0x1p-10F, 0, 1e-42, bits())[1]) << "after a small cap";
  for (const std::size_t place : {0U, 3U, 7U}) {
    Network network = network_of_one_weight(0x1p-10F, 2, -1e-34, true);
    network.cap = 32;
    std::vector<double> biases(8, -1e-34);
    network.layers[0].bias.values = biases;
    EXPECT_TRUE(factors(network, bits())[1]);
    biases[place] = -1e-35;
    network.layers[0].bias.values = biases;
    EXPECT_FALSE(factors(network, bits())[1]) << "after a small one of many";
  }
}

/// Ones are counted in 16 bits at a time.
TEST(CommonFactor, BitsAreCountedPastWhatOneCounterHolds) {
  constexpr Index kDark = 1U << 16U;
  std::vector<Index> inputs(kDark, 6);
  inputs.insert(inputs.end(), 10, 5);
  CsrMatrix weights;
  weights.rows = 1;
  weights.cols = 64;
  weights.offsets = Array<Offset>(std::vector<Offset>{0, inputs.size()});
  weights.indices = Array<Index>(std::move(inputs));
  weights.value = 1.0F;
  Network network = testing::network_of({{weights, {}}});
  network.cap.reset();
  const ImageSet images = ImageSet{ImageSet{testing::make_matrix(64, {{{5, 1.0F}}, {{6, 1.0F}}}, true)}.to_bits()};
  for (const Precision precision : {Precision::fp32, Precision::fp64})
    EXPECT_EQ(trace(network, images, precision)[0], (std::vector<double>{10, kDark}));
}

/// More ones than fp32 can count: a sum of equal terms stays where adding another one no longer changes it.
TEST(CommonFactor, BitsAreCountedOnlyAsFarAsThePrecisionCounts) {
  constexpr Index kInputs = 64;
  constexpr Index kTerms = (1U << 24U) + 64;
  CsrMatrix weights;
  weights.rows = 1;
  weights.cols = kInputs;
  weights.offsets = Array<Offset>(std::vector<Offset>{0, kTerms});
  weights.indices = Array<Index>(std::vector<Index>(kTerms, 5));
  weights.value = 1.0F;
  Network network = testing::network_of({{weights, {}}});
  network.cap.reset();
  const ImageSet images = ImageSet{ImageSet{testing::make_matrix(kInputs, {{{5, 1.0F}}}, true)}.to_bits()};
  EXPECT_EQ(trace(network, images, Precision::fp32)[0][0], 0x1p24);
  EXPECT_EQ(trace(network, images, Precision::fp64)[0][0], kTerms);
}

}  // namespace
}  // namespace spdnn
