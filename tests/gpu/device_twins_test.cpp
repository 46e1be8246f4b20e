// The device finds the same twins as the CPU, in rows that differ in one thing only, rows of every length and layers of
// every kind, in one chunk and in many, with hashes that collide and with too little memory; and so plans are the same.

#include <gtest/gtest.h>

#include <random>

#include "data/generate.hpp"
#include "engines/cuda/layers/twins.hpp"
#include "engines/devices.hpp"
#include "plan/planner.hpp"
#include "support/plan_nets.hpp"

namespace spdnn::cuda {
namespace {

using plan_tests::bias_of;
using plan_tests::make_layer;
using plan_tests::NetworkLottery;
using plan_tests::nudged;
using plan_tests::same_plan;
using plan_tests::Terms;
using plan_tests::to_vector;
using Indices = std::vector<Index>;

struct Kind {
  Index inputs;
  Index outputs;
  Index longest;  ///< row
  bool uniform = false;
  bool biases = false;  ///< of their own for each neuron
};

/// Draws layers whose rows are new, twins of earlier ones, or such twins with one thing changed.
class LayerLottery {
 public:
  explicit LayerLottery(unsigned seed) : random_(seed) {}

  Layer layer(const Kind& kind) {
    std::vector<Terms> rows;
    std::vector<double> biases;
    for (Index row = 0; row < kind.outputs; ++row) {
      const bool related = row > 0 && below(3) > 0;
      const Index other = related ? below(row) : 0;
      rows.push_back(related ? rows[other] : new_row(kind));
      biases.push_back(related ? biases[other] : -0.25 * below(3));
      if (related && below(2) == 0) change(rows.back(), biases.back(), kind);
    }
    return make_layer(kind.inputs, rows, kind.biases ? bias_of(biases) : Bias{-0.25, {}}, kind.uniform);
  }

 private:
  Index below(Index limit) { return static_cast<Index>(random_() % limit); }
  float weight(const Kind& kind) { return kind.uniform ? 0.5F : 0.125F * static_cast<float>(below(8)); }

  Terms new_row(const Kind& kind) {
    const Index lengths[] = {0, 1, 31, 32, 33, kind.longest, below(kind.longest + 1)};
    Terms row(std::min(lengths[below(7)], kind.longest));
    for (auto& [input, value] : row) {
      input = below(kind.inputs);
      value = weight(kind);
    }
    return row;
  }

  void change(Terms& row, double& bias, const Kind& kind) {
    const Index at = row.empty() ? 0 : below(static_cast<Index>(row.size()));
    const Index what = row.empty() ? 5 : below(7);
    if (what == 0) row[at].first = (row[at].first + 1) % kind.inputs;
    if (what == 1 && !kind.uniform) row[at].second = nudged(row[at].second);
    if (what == 2) std::swap(row[at], row.back());
    if (what == 3) row.pop_back();
    if (what == 4) bias = std::nextafter(bias, 1.0);  // the same in fp32
    if (what == 5) row.emplace_back(below(kind.inputs), weight(kind));
    if (what == 6 && !kind.uniform) row[at].second = -row[at].second;
  }

  std::mt19937 random_;
};

/// Uniform and valued layers, with indices of two bytes and of four, with biases and without, some without rows.
std::vector<Layer> layers_of_all_kinds() {
  LayerLottery lottery(7);
  std::vector<Layer> layers;
  for (const Kind& kind :
       {Kind{10, 0, 0}, Kind{100, 1, 5}, Kind{100, 5000, 40, true}, Kind{100, 5000, 40}, Kind{10, 0, 0, true, true},
        Kind{65536, 3000, 100, true, true}, Kind{65537, 3000, 100, true, true}, Kind{70000, 3000, 100, false, true},
        Kind{3, 20000, 2, true}, Kind{2000, 60, 20000}, Kind{1, 300, 70, true}, Kind{10, 0, 0}})
    layers.push_back(lottery.layer(kind));
  return layers;
}

/// As many layers as expected are left to the CPU.
void expect_twins(std::span<const Layer> layers, const TwinsFound& found, Index left_to_cpu = 0) {
  ASSERT_EQ(found.first.size(), layers.size());
  for (std::size_t k = 0; k < layers.size(); ++k)
    EXPECT_EQ(to_vector(found.first[k]), to_vector(planning::first_equal_rows(layers[k]))) << "layer " << k;
  EXPECT_EQ(found.left_to_cpu, left_to_cpu);
}

TEST(DeviceTwinsTest, RowsMustAgreeInOrderWeightsAndBias) {
  const Terms row{{0, 0.5F}, {2, 0.0F}};
  const double bias = -0.3;
  const std::vector<Layer> layers{
      make_layer(3,
                 {row,
                  {{2, 0.0F}, {0, 0.5F}},             // another order
                  row,                                // twin of 0
                  {{0, 0.5F}, {1, 0.0F}},             // another input
                  {{0, nudged(0.5F)}, {2, 0.0F}},     // a weight's last bit
                  {{0, 0.5F}, {2, -0.0F}},            // a zero's sign
                  row,                                // a bias's last bit
                  {{0, 0.5F}},                        // shorter
                  {{0, 0.5F}, {2, 0.0F}, {2, 0.0F}},  // longer
                  {},
                  {}},
                 bias_of({bias, bias, bias, bias, bias, bias, std::nextafter(bias, 0.0), bias, bias, bias, bias}))};
  const TwinsFound found = find_twins(layers);
  EXPECT_EQ(to_vector(found.first[0]), (Indices{0, 1, 0, 3, 4, 5, 6, 7, 8, 9, 9}));
  expect_twins(layers, found);
}

TEST(DeviceTwinsTest, AllDistinctIsEmptyAsIsNothing) {
  const std::vector<Layer> layers{make_layer(2, {{{0, 1.0F}}, {{1, 1.0F}}}, {}, true), make_layer(2, {}, {}),
                                  make_layer(2, {{{0, 1.0F}}, {{0, 2.0F}}}, {})};
  for (const Array<Index>& first : find_twins(layers).first) EXPECT_TRUE(first.empty());
  EXPECT_TRUE(find_twins({}).first.empty());
}

TEST(DeviceTwinsTest, LayersOfAllKindsInAnyChunks) {
  const std::vector<Layer> layers = layers_of_all_kinds();
  for (const Offset chunk : {TwinSearch{}.chunk, Offset{0}, Offset{50000}, Offset{400000}}) {
    SCOPED_TRACE(chunk);
    expect_twins(layers, find_twins(layers, {}, {.chunk = chunk}));
  }
}

/// A layer as large as several staging buffers between two small ones.
TEST(DeviceTwinsTest, LayersLargerThanAStagingBuffer) {
  LayerLottery lottery(3);
  const Kind small{64, 200, 40, true};
  const std::vector<Layer> layers{lottery.layer(small), lottery.layer({64, 60000, 100}), lottery.layer(small),
                                  lottery.layer({70000, 60000, 100, false, true}), lottery.layer(small)};
  ASSERT_GT(layers[3].weights.bytes(), std::size_t{12} << 20U);
  expect_twins(layers, find_twins(layers));
}

/// With one hash, or four, for all rows together, layers with different rows are left to the CPU; in chunks of one, a
/// layer whose rows are all equal, or that has none, is not.
TEST(DeviceTwinsTest, CollidingHashesCostTimeOnly) {
  LayerLottery lottery(5);
  const Terms row{{1, 0.5F}, {0, 0.25F}};
  std::vector<Layer> layers{make_layer(2, {row, row, row}, {}), make_layer(2, {}, {})};
  for (const bool uniform : {false, true}) layers.push_back(lottery.layer({50, 400, 40, uniform, uniform}));
  expect_twins(layers, find_twins(layers, {}, {.chunk = 0, .hash_mask = 0}), 2);
  expect_twins(layers, find_twins(layers, {}, {.chunk = 0, .hash_mask = 3}), 2);
  expect_twins(layers, find_twins(layers, {}, {.hash_mask = 0}), 2);
}

TEST(DeviceTwinsTest, WithoutMemoryTheCpuLooks) {
  const std::vector<Layer> layers = layers_of_all_kinds();
  EngineOptions options;
  options.device_memory = 1;
  expect_twins(layers, find_twins(layers, options), static_cast<Index>(layers.size()));
  // A slot takes half. Its sort needs a megabyte and 40 bytes per row, which is too much for 20000 rows.
  options.device_memory = std::size_t{3} << 20U;
  const TwinsFound found = find_twins(layers, options);
  EXPECT_GT(found.left_to_cpu, 0U);
  EXPECT_LT(found.left_to_cpu, layers.size());
  expect_twins(layers, found, found.left_to_cpu);
}

TEST(DeviceTwinsTest, PlansAreTheSame) {
  const planning::TwinFinder find_twins = twin_finder(Device::cuda);
  ASSERT_TRUE(find_twins);
  std::vector<Network> networks{generate_official_network(1024, 24), generate_official_network(4096, 3)};
  for (std::uint64_t seed = 1; seed <= 150; ++seed) networks.push_back(NetworkLottery(seed).network());
  for (std::size_t i = 0; i < networks.size(); ++i) {
    const Passes all = parse_passes("all");
    EXPECT_TRUE(same_plan(make_plan(networks[i], all, find_twins), make_plan(networks[i], all))) << "network " << i;
  }
}

}  // namespace
}  // namespace spdnn::cuda
