#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "data/counter_random.hpp"
#include "data/generate.hpp"
#include "io/packed/digests.hpp"
#include "io/packed/read_write.hpp"
#include "spdnn/error.hpp"

namespace spdnn {
namespace {

using Maker = Network (*)(const FamilyOptions&);

bool equal(const Network& a, const Network& b) {
  if (a.layers.size() != b.layers.size()) return false;
  for (std::size_t k = 0; k < a.layers.size(); ++k) {
    const CsrMatrix& x = a.layers[k].weights;
    const CsrMatrix& y = b.layers[k].weights;
    if (!std::equal(x.indices.begin(), x.indices.end(), y.indices.begin(), y.indices.end())) return false;
    if (!std::equal(x.values.begin(), x.values.end(), y.values.begin(), y.values.end()) || x.value != y.value)
      return false;
  }
  return true;
}

void expect_degree(const Network& network, Index degree) {
  EXPECT_NO_THROW(network.validate());
  for (const Layer& layer : network.layers)
    for (Index row = 0; row < layer.outputs(); ++row) {
      const auto inputs = layer.weights.row(row);
      ASSERT_EQ(inputs.size(), degree);
      ASSERT_EQ(std::adjacent_find(inputs.begin(), inputs.end(), std::greater_equal<>()), inputs.end());
    }
}

class Families : public ::testing::TestWithParam<Maker> {};

TEST_P(Families, HaveTheDegreeAndAscendingInputs) {
  for (const auto& [neurons, degree] : {std::pair<Index, Index>{1024, 32}, {100, 10}, {97, 32}, {60, 60}, {64, 2}})
    expect_degree(GetParam()({.neurons = neurons, .layers = 13, .degree = degree}), degree);
}

TEST_P(Families, DependOnTheSeedAndNotOnThreads) {
  const FamilyOptions options{
      .neurons = 300, .layers = 5, .degree = 12, .seed = 7, .law = parse_weight_law("normal:0:1")};
  const int threads = omp_get_max_threads();
  omp_set_num_threads(1);
  const Network one = GetParam()(options);
  omp_set_num_threads(5);
  EXPECT_TRUE(equal(one, GetParam()(options)));
  omp_set_num_threads(threads);
  FamilyOptions other = options;
  other.seed = 8;
  other.law = std::nullopt;
  FamilyOptions constant = options;
  constant.law = std::nullopt;
  EXPECT_FALSE(equal(GetParam()(other), GetParam()(constant)));
}

TEST_P(Families, LayersDiffer) {
  const Network network = GetParam()({.neurons = 256, .layers = 40, .degree = 32});
  std::set<std::vector<Index>> seen;
  for (const Layer& layer : network.layers) seen.insert({layer.weights.indices.begin(), layer.weights.indices.end()});
  EXPECT_GT(seen.size(), 10U);
}

TEST_P(Families, ConstantLawStoresOneValue) {
  const Network network = GetParam()({.neurons = 64, .layers = 2, .degree = 16, .bias = -0.25});
  EXPECT_TRUE(network.layers[1].weights.uniform());
  EXPECT_EQ(network.layers[1].weights.value, 0.125F);
  EXPECT_EQ(network.layers[1].bias.uniform, -0.25);
}

TEST_P(Families, NormalLawHasItsMomentsAndHardlyAValueTwice) {
  const Network network =
      GetParam()({.neurons = 1024, .layers = 3, .degree = 32, .law = parse_weight_law("normal:0.0625:0.01")});
  std::vector<float> values;
  for (const Layer& layer : network.layers)
    values.insert(values.end(), layer.weights.values.begin(), layer.weights.values.end());
  ASSERT_EQ(values.size(), 3U * 32768);
  double mean = 0;
  double square = 0;
  for (const double v : values) mean += v / static_cast<double>(values.size());
  for (const double v : values) square += (v - mean) * (v - mean) / static_cast<double>(values.size());
  EXPECT_NEAR(mean, 0.0625, 2e-4);
  EXPECT_NEAR(std::sqrt(square), 0.01, 2e-4);
  EXPECT_GT(std::set<float>(values.begin(), values.end()).size(), values.size() * 97 / 100);
}

/// The rule of the challenge for one row, which suffices to see whether images stay alive.
std::vector<double> sums(const Network& network, std::vector<double> row) {
  for (const Layer& layer : network.layers) {
    std::vector<double> next(layer.outputs());
    for (Index j = 0; j < layer.outputs(); ++j) {
      for (Offset k = layer.weights.offsets[j]; k < layer.weights.offsets[std::size_t{j} + 1]; ++k)
        next[j] += row[layer.weights.indices[k]] * layer.weights.entry_value(k);
      if (next[j] != 0) next[j] = std::clamp(next[j] + layer.bias[j], 0.0, *network.cap);
    }
    row = next;
  }
  return row;
}

TEST_P(Families, KeepImagesAliveByDefault) {
  const Network network = GetParam()({.neurons = 1024, .layers = 120});
  std::vector<double> row(1024);
  std::fill_n(row.begin(), 20, 1.0);  // a faint image: 2 % of its pixels
  row = sums(network, row);
  EXPECT_EQ(*std::min_element(row.begin(), row.end()), 32.0);
}

INSTANTIATE_TEST_SUITE_P(All, Families, ::testing::Values(&generate_radixnet, &generate_random),
                         [](const auto& family) { return family.index == 0 ? "radixnet" : "random"; });

TEST(RadixNet, BlockConnectsEveryInputWithEveryOutputEquallyOften) {
  // 1024 = 16 x 2^6: blocks of 6 layers. One pixel reaches all outputs, by 16^5 paths each (weights of 1, no cap).
  Network network = generate_radixnet({.neurons = 1024, .layers = 6, .law = parse_weight_law("constant:1")});
  network.cap = 1e9;
  std::vector<double> row(1024);
  row[77] = 1.0;
  for (const double paths : sums(network, row)) ASSERT_EQ(paths, 16.0 * 16 * 16 * 16 * 16);
}

TEST(RadixNet, TheSmallestRadixThatConnectsAllEquallyOftenIsTaken) {
  // 36 = 6^2: radix 6. Radices 2 and 3, with 12 and 18 groups, reach no output of a block equally often.
  for (const auto& [neurons, degree, layers, paths] :
       {std::tuple<Index, Index, Index, double>{36, 6, 2, 1}, {64, 8, 4, 64}, {48, 12, 3, 36}}) {
    Network network = generate_radixnet(
        {.neurons = neurons, .layers = layers, .degree = degree, .law = parse_weight_law("constant:1")});
    network.cap = 1e9;
    std::vector<double> row(neurons);
    row[neurons / 3] = 1.0;
    for (const double found : sums(network, row)) ASSERT_EQ(found, paths) << neurons << " neurons";
  }
}

/// Fisher & Yates with draws of splitmix64: other permutations would be as random, but no longer the same networks.
TEST(Families, ASeedMeansTheSameNetworkForEver) {
  const FamilyOptions options{.neurons = 96, .layers = 4, .degree = 8, .seed = 5};
  EXPECT_EQ(network_digest(generate_radixnet(options)), 4478859244010601109U);
  EXPECT_EQ(network_digest(generate_random(options)), 18231181167850553634U);
}

TEST(RadixNet, EveryInputHasTheSameNumberOfReaders) {
  const Network network = generate_radixnet({.neurons = 1000, .layers = 9, .degree = 20});
  for (const Layer& layer : network.layers) {
    const CsrMatrix readers = transpose(layer.weights);
    for (Index i = 0; i < 1000; ++i) ASSERT_EQ(readers.degree(i), 20U);
  }
}

TEST(Random, InputsAreUniform) {
  for (const Index degree : {1, 16}) {
    const Network network = generate_random({.neurons = 64, .layers = 50, .degree = degree});
    std::vector<double> readers(64);
    for (const Layer& layer : network.layers)
      for (const Index input : layer.weights.indices) ++readers[input];
    const double chance = degree / 64.0;
    const double expected = 50 * 64 * chance;
    const double deviation = std::sqrt(expected * (1 - chance));
    EXPECT_GT(*std::min_element(readers.begin(), readers.end()), expected - 4.5 * deviation);
    EXPECT_LT(*std::max_element(readers.begin(), readers.end()), expected + 4.5 * deviation);
  }
}

TEST(Families, RefuseDegreesThatDoNotFit) {
  EXPECT_THROW(generate_random({.neurons = 16, .layers = 1, .degree = 17}), UsageError);
  EXPECT_THROW(generate_random({.neurons = 16, .layers = 1, .degree = 0}), UsageError);
  EXPECT_THROW(generate_radixnet({.neurons = 16, .layers = 1, .degree = 1}), UsageError);
}

TEST(WeightLaw, Parses) {
  EXPECT_EQ(parse_weight_law("constant:0.5").value, 0.5);
  const WeightLaw normal = parse_weight_law("normal:-1:2e-3");
  EXPECT_EQ(normal.kind, WeightLaw::Kind::normal);
  EXPECT_EQ(normal.value, -1.0);
  EXPECT_EQ(normal.deviation, 2e-3);
  for (const char* text : {"", "constant", "constant:", "constant:0", "constant:1x", "constant:1:2", "normal:1",
                           "normal:1:0", "normal:1:-1", "normal:1:nan", "constant:inf", "constant:1e60", "uniform:0:1"})
    EXPECT_THROW(parse_weight_law(text), UsageError) << text;
}

TEST(RandomStream, IsSplitMix64AndStaysInBounds) {
  // Vigna's splitmix64.c with state 0 begins with these; mix_bits is its finaliser.
  EXPECT_EQ(mix_bits(0x9e3779b97f4a7c15ULL), 0xe220a8397b1dcdafULL);
  EXPECT_EQ(mix_bits(2 * 0x9e3779b97f4a7c15ULL), 0x6e789e6aa1b965f4ULL);
  RandomStream random(1, 2, 3);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_LT(random.below(3), 3U);
    const double u = random.unit();
    EXPECT_TRUE(u > 0 && u <= 1);
  }
}

}  // namespace
}  // namespace spdnn
