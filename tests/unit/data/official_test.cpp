#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sha1.h>
#include <sha256.h>

#include <array>
#include <fstream>
#include <numeric>

#include "data/generate.hpp"
#include "data/official/matlab_random.hpp"
#include "data/official/problems.hpp"
#include "data/official/trig_upsample.hpp"
#include "io/packed/digests.hpp"
#include "spdnn/categories.hpp"
#include "spdnn/error.hpp"
#include "spdnn/files.hpp"
#include "support/sampled.hpp"
#include "support/shared_data.hpp"

namespace spdnn {
namespace {

/// The SHA-256 of the inputs of all layers, as 0-based little-endian words.
std::string inputs_digest(const Network& network) {
  std::vector<Index> all;
  for (const Layer& layer : network.layers)
    all.insert(all.end(), layer.weights.indices.begin(), layer.weights.indices.end());
  std::array<char, SHA256_DIGEST_STRING_LENGTH> hex{};
  return SHA256Data(reinterpret_cast<const std::uint8_t*>(all.data()), all.size() * sizeof(Index), hex.data());
}

TEST(MatlabRandom, IsRandOfAFreshMatlab) {
  std::mt19937 generator;
  const std::array expected{0.814723686393179, 0.905791937075619, 0.126986816293506, 0.913375856139019,
                            0.632359246225410, 0.097540404999410, 0.278498218867048, 0.546881519204984};
  for (const double value : expected) EXPECT_NEAR(matlab_rand(generator), value, 1e-15);
}

TEST(MatlabRandom, ArgsortIsStable) {
  EXPECT_EQ(stable_argsort(std::vector<double>{0.5, 0.1, 0.5, 0.0, 0.1}), (std::vector<Index>{3, 1, 4, 0, 2}));
  EXPECT_TRUE(stable_argsort(std::vector<double>{}).empty());
}

TEST(OfficialNetwork, FirstLayersAreTheButterfly) {
  const Network network = generate_official_network(1024, 2);
  const auto first = network.layers[0].weights.row(0);
  EXPECT_EQ(std::vector<Index>(first.begin(), first.begin() + 4), (std::vector<Index>{0, 1, 64, 65}));
  const auto second = network.layers[1].weights.row(63);
  EXPECT_EQ(std::vector<Index>(second.begin(), second.begin() + 4), (std::vector<Index>{1, 63, 65, 127}));
  EXPECT_EQ(network.layers[0].bias.uniform, -0.3);
  EXPECT_EQ(network.cap, 32.0);
}

// The digest at 1024 was taken when all 120 layers equalled the official files byte for byte (tests/cli/generate.bats
// compares them again); the others are from an independent program for the published recipe.
TEST(OfficialNetwork, EveryLayerIsTheOfficialOne) {
  struct Case {
    Index neurons;
    Index layers;
    const char* digest;
  };
  for (const Case& c : {Case{1024, 120, "efc1f7ef06916e4c3198cceae80faa32eb49f6bebad41263a2e9aa5a1af7fc90"},
                        Case{4096, 24, "f5a531ef3b36069c452e3433b296774dc7383388467252b95b34e18267e842d0"},
                        Case{16384, 24, "6386e46ce4d44751f43c192020d0567ef24ae952ebb8cfeefb03f632283e01e9"},
                        Case{65536, 26, "4afc951bb3cfab833c4df0c5b50794b213135b36145c1c5168793a6ac32c81af"}}) {
    if (c.neurons > testing::sampled(4096U, 65536U)) break;
    const Network network = generate_official_network(c.neurons, c.layers);
    EXPECT_NO_THROW(network.validate());
    EXPECT_TRUE(has_official_form(network));
    EXPECT_EQ(inputs_digest(network), c.digest) << c.neurons;
  }
}

TEST(OfficialNetwork, DeeperOnesBeginAlike) {
  const Network deep = generate_official_network(1024, 480);
  Network cut = deep;
  cut.layers.resize(120);
  EXPECT_EQ(inputs_digest(cut), inputs_digest(generate_official_network(1024, 120)));
  EXPECT_EQ(deep.edges(), 480U * 32768);
}

TEST(OfficialNetwork, OtherSizesAreRefused) { EXPECT_THROW(generate_official_network(2048, 1), UsageError); }

TEST(OfficialForm, IsLostByAnyOtherWeight) {
  Network network = generate_official_network(1024, 3);
  std::vector<float> values(network.layers[1].weights.entries(), kOfficialWeight);
  network.layers[1].weights.values = Array<float>(values);
  EXPECT_TRUE(has_official_form(network));
  values.back() = 0.125F;
  network.layers[1].weights.values = Array<float>(values);
  EXPECT_FALSE(has_official_form(network));
  network.layers[1].weights.values = {};
  EXPECT_TRUE(has_official_form(network));
  network.layers[1].weights.value = 0.125F;
  EXPECT_FALSE(has_official_form(network));
  EXPECT_FALSE(has_official_form(Network{}));
  EXPECT_FALSE(has_official_form(generate_random({.neurons = 1024, .layers = 1, .degree = 31})));
}

/// The numbers of the challenge (Kepner et al., HPEC 2019).
TEST(OfficialProblem, HasTheBiasAndTheNumberOfCategoriesOfItsSize) {
  for (const auto& [neurons, bias, categories] : {std::tuple<Index, double, std::size_t>{1024, -0.30, 1812},
                                                  {4096, -0.35, 1801},
                                                  {16384, -0.40, 1918},
                                                  {65536, -0.45, 1994}}) {
    ASSERT_TRUE(official_problem(neurons));
    EXPECT_EQ(official_problem(neurons)->bias, bias);
    EXPECT_EQ(official_problem(neurons)->categories, categories);
  }
  EXPECT_FALSE(official_problem(2048));
}

TEST(OfficialProblem, DigestIsThatOfTheOfficialCategories) {
  const auto path = shared_data("official/neuron1024-l120-categories.tsv");
  if (!exists(path)) GTEST_SKIP() << "no official categories at " << path;
  std::ifstream file(path);
  Categories categories;
  for (Index id = 0; file >> id;) categories.push_back(id - 1);
  EXPECT_EQ(categories.size(), official_problem(1024)->categories);
  EXPECT_EQ(digest(categories), official_problem(1024)->category_digest);
  EXPECT_FALSE(official_problem(1000));
}

TEST(OfficialImages, AreTheOfficialFileAt1024) {
  if (!exists(shared_mnist())) GTEST_SKIP() << "no MNIST at " << shared_mnist();
  const ImageSet images = generate_official_images(read_mnist(shared_mnist()), 1024);
  EXPECT_EQ(image_digest(images), official_problem(1024)->image_digest);
  std::string text;  // as the official file: sorted by neuron, then image
  for (Index neuron = 0; neuron < 1024; ++neuron)
    for (Index image = 0; image < images.images(); ++image)
      if (images.bits().test(image, neuron)) text += fmt::format("{}\t{}\t1\n", image + 1, neuron + 1);
  const std::string blob = fmt::format("blob {}", text.size()) + '\0' + text;
  std::array<char, SHA1_DIGEST_STRING_LENGTH> hex{};
  EXPECT_STREQ(SHA1Data(reinterpret_cast<const std::uint8_t*>(blob.data()), blob.size(), hex.data()),
               "7ef31fd5e90d375c1444fd8d255c685f288a48ad");
}

TEST(OfficialImages, HaveTheOfficialNonzerosAt4096) {
  if (!exists(shared_mnist())) GTEST_SKIP() << "no MNIST at " << shared_mnist();
  const ImageSet images = generate_official_images(read_mnist(shared_mnist()), 4096);
  EXPECT_EQ(images.nonzeros(), 25019051U);
  EXPECT_EQ(images.empty_images(), 0U);
  EXPECT_EQ(image_digest(images), official_problem(4096)->image_digest);
}

TEST(OfficialImages, NeedAllOfMnistAndAnOfficialSize) {
  const MnistImages few{2, Array<std::uint8_t>(std::vector<std::uint8_t>(2 * 784, 7))};
  EXPECT_THROW(generate_official_images(few, 1024), DataError);
  EXPECT_THROW(generate_official_images(few, 1000), UsageError);
}

}  // namespace
}  // namespace spdnn
