// cpu_openmp with every instruction set of this processor, and its definition of a sum.

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "engines/cpu/tiles/dispatch.hpp"
#include "engines/cpu/tiles/engine.hpp"
#include "support/battery.hpp"

namespace spdnn {
namespace {

std::vector<double> activations_on(std::size_t instruction_set, const testing::Case& c, Precision precision) {
  const Plan plan = testing::unreduced_plan(c.network, parse_passes("dead,saturated,identical"));
  const auto engine = testing::inspectable(
      make_cpu_openmp(std::make_shared<const Plan>(plan), {.precision = precision, .threads = 1}, instruction_set));
  engine->load(c.images);
  testing::run_through(*engine, plan.depth());
  return engine->activations();
}

TEST(CpuKernels, InstructionSetsAgreeBitForBit) {
  const auto& available = tiles::available_kernels<float>();
  ASSERT_EQ(available.size(), tiles::available_kernels<double>().size());
  for (const testing::Case& c : testing::battery()) {
    for (const Precision precision : {Precision::fp32, Precision::fp64}) {
      const std::vector<double> expected = activations_on(0, c, precision);
      for (std::size_t set = 1; set < available.size(); ++set)
        EXPECT_EQ(activations_on(set, c, precision), expected) << c.name << " on " << available[set]->instruction_set;
    }
  }
}

TEST(CpuKernels, MovedLanesArriveAndOthersStay) {
  constexpr Index kNeurons = 3;
  constexpr Index kLanes = tiles::kLanes<float>;
  const std::array<std::uint8_t, 5> from{31, 0, 7, 8, 20};
  const std::array<std::uint8_t, 5> to{0, 1, 30, 16, 15};
  for (const auto* kernels : tiles::available_kernels<float>()) {
    alignas(tiles::kLaneBytes) std::array<float, kNeurons * kLanes> source{};
    alignas(tiles::kLaneBytes) std::array<float, kNeurons * kLanes> target{};
    for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<float>(i);
    for (std::size_t i = 0; i < target.size(); ++i) target[i] = -static_cast<float>(i);
    auto expected = target;
    for (Index j = 0; j < kNeurons; ++j)
      for (std::size_t i = 0; i < from.size(); ++i) expected[j * kLanes + to[i]] = source[j * kLanes + from[i]];
    kernels->move_lanes(source.data(), target.data(), kNeurons, from.data(), to.data(), from.size());
    EXPECT_EQ(target, expected) << kernels->instruction_set;
  }
}

TEST(CpuKernels, EqualLanesHashEqually) {
  testing::Rng rng(1);
  constexpr Index kNeurons = 50;
  constexpr Index kLanes = tiles::kLanes<float>;
  alignas(tiles::kLaneBytes) std::array<float, kNeurons * kLanes> tile{};
  for (float& value : tile) value = static_cast<float>(rng.real(0, 32));
  for (Index j = 0; j < kNeurons; ++j) tile[j * kLanes + 17] = tile[j * kLanes + 4];
  for (const auto* kernels : tiles::available_kernels<float>()) {
    std::array<std::uint32_t, kLanes> hashes{};
    kernels->hash_lanes(tile.data(), kNeurons, hashes.data());
    EXPECT_EQ(hashes[17], hashes[4]);
    std::sort(hashes.begin(), hashes.end());
    EXPECT_EQ(std::unique(hashes.begin(), hashes.end()) - hashes.begin(), kLanes - 1);
  }
}

/// Two rows of two neurons that differ but have the same hash, found among many.
std::array<std::array<float, 2>, 2> colliding_rows() {
  constexpr Index kLanes = tiles::kLanes<float>;
  testing::Rng rng(5);
  std::map<std::uint32_t, std::array<float, 2>> seen;
  alignas(tiles::kLaneBytes) std::array<float, 2 * kLanes> tile{};
  for (;;) {
    for (float& value : tile) value = static_cast<float>(rng.real(0, 1));
    std::array<std::uint32_t, kLanes> hashes{};
    tiles::portable_kernels<float>()->hash_lanes(tile.data(), 2, hashes.data());
    for (Index lane = 0; lane < kLanes; ++lane) {
      const std::array<float, 2> row{tile[lane], tile[kLanes + lane]};
      const auto [other, fresh] = seen.try_emplace(hashes[lane], row);
      if (!fresh && other->second != row) return {other->second, row};
    }
  }
}

TEST(CpuKernels, EqualHashesAreNotTrusted) {
  const auto rows = colliding_rows();
  Network network;
  for (int layer = 0; layer < 12; ++layer)  // nothing changes
    network.layers.push_back(testing::make_layer(2, {{{0, 1.0F}}, {{1, 1.0F}}}, 0));
  const Plan plan = testing::unreduced_plan(network, parse_passes("identical"));
  const ImageSet images{testing::make_matrix(
      2, {{{0, rows[0][0]}, {1, rows[0][1]}}, {{0, rows[1][0]}, {1, rows[1][1]}}, {{0, rows[0][0]}, {1, rows[0][1]}}})};
  const auto engine = testing::engine_for(find_variant("cpu_openmp"), plan, images, {.threads = 1});
  engine->load(images);
  EXPECT_EQ(testing::run_through(*engine, plan.depth()).identical, 1);  // the third is the first again
  EXPECT_EQ(engine->activations(),
            (std::vector<double>{rows[0][0], rows[0][1], rows[1][0], rows[1][1], rows[0][0], rows[0][1]}));
}

/// One layer of sums over `values` by cpu_openmp in fp32: one neuron, a row of one image.
double sum_of(const std::vector<float>& values, float weight, bool uniform) {
  const auto terms = narrow<Index>(values.size());
  testing::Rows row(1);
  testing::Rows image(1);
  for (Index i = 0; i < terms; ++i) {
    row[0].emplace_back(i, weight);
    image[0].emplace_back(i, values[i]);
  }
  Network network = testing::network_of({testing::make_layer(terms, row, 0, uniform)});
  network.cap.reset();
  const Plan plan = testing::unreduced_plan(network);
  const ImageSet images{testing::make_matrix(terms, image)};
  const auto engine = testing::engine_for(find_variant("cpu_openmp"), plan, images, {.threads = 1});
  engine->load(images);
  testing::run_through(*engine, 1);
  return engine->activations().front();
}

TEST(CpuKernels, ARepeatedWeightIsAWeightLikeAnyOther) {
  testing::Rng rng(2);
  for (int round = 0; round < 100; ++round) {
    std::vector<float> values(32);
    for (float& value : values) value = static_cast<float>(rng.real(0, 1));
    for (const float weight : {0.0625F, -0.5F, 0.3F, static_cast<float>(rng.real(0.01, 0.2))}) {
      float expected = 0;
      for (const float value : values) expected += value * weight;
      EXPECT_EQ(sum_of(values, weight, true), std::max(expected, 0.0F));
      EXPECT_EQ(sum_of(values, weight, false), std::max(expected, 0.0F));
    }
  }
}

/// Every lane counts the non-zero terms of 32 images, some of which have far more than a 16-bit counter holds.
TEST(CpuKernels, BitsOfVeryLongRowsAreAllCounted) {
  constexpr Index kInputs = 8;
  constexpr Index kImages = tiles::kLanes<float>;
  for (const Index terms : {65536U, 65537U, 131072U + 24U, 400000U}) {
    testing::Rows row(1);
    for (Index k = 0; k < terms; ++k) row[0].emplace_back(k % kInputs, 0x1p-6F);
    Network network = testing::network_of({testing::make_layer(kInputs, row, 0, true)});
    network.cap.reset();
    testing::Rows lit(kImages);
    for (Index input = 0; input < kInputs; ++input)
      for (auto& image : lit) image.emplace_back(input, 1.0F);
    const ImageSet images{ImageSet{testing::make_matrix(kInputs, lit, true)}.to_bits()};
    const Plan plan = testing::unreduced_plan(network);
    const auto engine = testing::engine_for(find_variant("cpu_openmp"), plan, images, {.threads = 1});
    engine->load(images);
    testing::run_through(*engine, 1);
    EXPECT_EQ(engine->activations(), std::vector<double>(kImages, terms * 0x1p-6)) << terms << " terms";
  }
}

TEST(CpuKernels, BeforeTheFirstLayerActivationsAreTheImages) {
  const Plan plan = testing::unreduced_plan(testing::network_of({testing::make_layer(3, {{{0, 1.F}}}, 0)}));
  const ImageSet images{testing::make_matrix(3, {{{0, 0.5F}, {2, 1}, {2, 2}}, {}, {{1, 4}}})};
  const auto engine = testing::engine_for(find_variant("cpu_openmp"), plan, images, {.threads = 1});
  engine->load(images);
  EXPECT_EQ(engine->activations(), (std::vector<double>{0.5, 0, 3, 0, 0, 0, 0, 4, 0}));
}

TEST(CpuKernels, OverflowFollowsIeee) {
  const float huge = 3e38F;
  Network network = testing::network_of({testing::make_layer(
      2, {{{0, huge}, {1, huge}}, {{0, huge}, {1, huge}, {0, -huge}, {1, -huge}, {0, -huge}}}, 0)});
  network.cap.reset();
  const Plan plan = testing::unreduced_plan(network, parse_passes("dead"));
  const ImageSet images{testing::make_matrix(2, {{{0, 1.0F}, {1, 1.0F}}})};
  const auto engine = testing::engine_for(find_variant("cpu_openmp"), plan, images, {.threads = 1});
  engine->load(images);
  EXPECT_EQ(testing::run_through(*engine, 1).categories, Categories{0});
  EXPECT_TRUE(std::isinf(engine->activations().front()));
}

}  // namespace
}  // namespace spdnn
