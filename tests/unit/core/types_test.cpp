#include <gtest/gtest.h>

#include <cmath>

#include "core/types/narrow_floats.hpp"
#include "core/types/plan.hpp"
#include "spdnn/categories.hpp"
#include "spdnn/images.hpp"
#include "support/networks.hpp"

namespace spdnn {
namespace {

CsrMatrix small_matrix() {  // rows: {0, 2}, {}, {1}
  CsrMatrix m;
  m.rows = 3;
  m.cols = 3;
  m.offsets = Array<Offset>({0, 2, 2, 3});
  m.indices = Array<Index>({0, 2, 1});
  return m;
}

TEST(CsrMatrix, TransposeTwiceIsIdentity) {
  const CsrMatrix m = small_matrix();
  const CsrMatrix t = transpose(m);
  EXPECT_EQ(std::vector<Index>(t.indices.begin(), t.indices.end()), (std::vector<Index>{0, 2, 0}));
  const CsrMatrix back = transpose(t);
  EXPECT_TRUE(std::equal(back.indices.begin(), back.indices.end(), m.indices.begin()));
  EXPECT_TRUE(std::equal(back.offsets.begin(), back.offsets.end(), m.offsets.begin()));
}

TEST(CsrMatrix, ValidateRefusesWhatIsNoMatrix) {
  CsrMatrix m = small_matrix();
  EXPECT_NO_THROW(m.validate());
  m.cols = 2;
  EXPECT_THROW(m.validate(), std::invalid_argument);
  m = small_matrix();
  m.offsets = Array<Offset>({0, 2, 1, 3});
  EXPECT_THROW(m.validate(), std::invalid_argument);
}

TEST(ImageSet, BitsAndCsrSayTheSame) {
  const ImageSet sparse{small_matrix()};
  const ImageSet bits{sparse.to_bits()};
  EXPECT_EQ(bits.nonzeros(), 3U);
  const CsrMatrix back = bits.to_csr();
  EXPECT_TRUE(std::equal(back.indices.begin(), back.indices.end(), sparse.sparse().indices.begin()));
  EXPECT_EQ(bits.slice(2, 1).nonzeros(), 1U);
  EXPECT_EQ(sparse.slice(1, 2).nonzeros(), 1U);
}

TEST(ImageSet, ValidateRefusesWhatAreNoImages) {
  BitMatrix bits{.rows = 2, .cols = 65, .words = std::vector<std::uint64_t>{~0ULL, 1, 0, 1}};
  EXPECT_NO_THROW(ImageSet{bits}.validate());
  bits.words = std::vector<std::uint64_t>{~0ULL, 1, 0, 2};
  EXPECT_THROW(ImageSet{bits}.validate(), std::invalid_argument) << "a 66th neuron";
  bits.words = std::vector<std::uint64_t>{0, 0, 0};
  EXPECT_THROW(ImageSet{bits}.validate(), std::invalid_argument) << "a word is missing";
  bits.cols = 64;
  bits.words = std::vector<std::uint64_t>{~0ULL, ~0ULL};
  EXPECT_NO_THROW(ImageSet{bits}.validate());
  CsrMatrix outside = small_matrix();
  outside.cols = 2;
  EXPECT_NO_THROW(ImageSet{small_matrix()}.validate());
  EXPECT_THROW(ImageSet{outside}.validate(), std::invalid_argument);
}

TEST(Categories, CompareAndDigest) {
  const Categories truth{1, 3, 5};
  const Categories found{1, 4, 5};
  const Comparison result = compare(found, truth);
  EXPECT_EQ(result.missing, (std::vector<Index>{3}));
  EXPECT_EQ(result.extra, (std::vector<Index>{4}));
  EXPECT_THROW(compare(Categories{2, 1}, truth), std::invalid_argument);
  EXPECT_THROW(compare(truth, Categories{1, 3, 3}), std::invalid_argument) << "a category twice";
  // printf '2\n4\n' | sha256sum
  EXPECT_EQ(digest(Categories{1, 3}), "7b90b6c82d45cab1f3b5f170e4b90c5545cd08cf90f6e6c28877b72e54da852b");
}

TEST(Passes, NamesRoundTrip) {
  EXPECT_EQ(to_string(parse_passes("dead,twins")), "twins,dead");
  EXPECT_EQ(to_string(parse_passes("none")), "none");
  EXPECT_FALSE(parse_passes("all").merge);
  EXPECT_THROW(parse_passes("twin"), std::runtime_error);
  EXPECT_THROW(parse_passes(""), std::runtime_error);
}

/// From 3 inputs to 5 neurons, to 2, to 4.
Plan plan_of_three() {
  Plan plan;
  plan.layers.push_back({testing::make_matrix(3, {{{0, 1.F}, {2, 2.F}}, {}, {{1, 3.F}}, {}, {}}), {}});
  plan.layers.push_back({testing::make_matrix(5, {{{4, 1.F}}, {}}), {}});
  plan.layers.push_back({testing::make_matrix(2, {{}, {}, {}, {{1, 1.F}}}), {}});
  plan.layers[1].bias.values = std::vector<double>{-2, 0.5};
  plan.layers[2].bias.uniform = -3;
  return plan;
}

TEST(Plan, KnowsItsWidthsEdgesAndBiases) {
  Plan plan = plan_of_three();
  EXPECT_EQ(plan.inputs(), 3U);
  EXPECT_EQ(plan.depth(), 3U);
  EXPECT_EQ(plan.edges(), 5U);
  EXPECT_EQ(plan.max_outputs(), 5U);
  EXPECT_EQ(plan.max_width(), 5U);
  EXPECT_EQ(plan.bias_range(1), std::pair(-2.0, 0.5));
  EXPECT_EQ(plan.bias_range(2), std::pair(-3.0, -3.0));
  plan.layers.erase(plan.layers.begin());
  EXPECT_EQ(plan.max_outputs(), 4U);
  EXPECT_EQ(plan.max_width(), 5U) << "the inputs of the first";
  EXPECT_EQ(Plan().max_width(), 0U);
}

TEST(Plan, ItsBytesAreThoseOfLayersBiasesAndNumbersOfNeurons) {
  Plan plan = plan_of_three();
  const std::size_t before = plan.bytes();
  plan.layers[0].bias.values = std::vector<double>(5);
  EXPECT_EQ(plan.bytes(), before + 5 * sizeof(double));
  plan.expansion.resize(3);
  plan.expansion[1] = std::vector<Index>(7);
  plan.expansion[2] = std::vector<Index>(4);
  EXPECT_EQ(plan.bytes(), before + 5 * sizeof(double) + 11 * sizeof(Index));
}

TEST(Plan, IsForANetworkWithWhatItFallsBackOn) {
  Plan plan = plan_of_three();
  plan.fallback = Fallback{{}, std::make_shared<const Plan>(plan_of_three())};
  plan.set_network_digest(7);
  EXPECT_EQ(plan.provenance.network_digest, 7U);
  EXPECT_EQ(plan.fallback->in_order->provenance.network_digest, 7U);
  EXPECT_EQ(plan.fallback->in_order->depth(), 3U);
}

TEST(NarrowFloats, AreExactOrThereAreNone) {
  std::size_t exact = 0;
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = float_of_f16(half);
    const bool is_nan = (bits & 0x7fffU) > 0x7c00;
    EXPECT_EQ(std::isnan(value), is_nan);
    EXPECT_EQ(std::signbit(value), bits > 0x7fff);
    EXPECT_EQ(std::isinf(value), (bits & 0x7fffU) == 0x7c00);
    if (!std::isfinite(value)) continue;
    ++exact;
    EXPECT_EQ(f16_of_float(value), half);
    EXPECT_EQ(f16_of_float(std::nextafter(value, 1e9F)), std::nullopt);
    EXPECT_EQ(bf16_of_float(float_of_bf16(half)), half);
  }
  EXPECT_EQ(exact, 2U * 0x7c00);
  EXPECT_EQ(float_of_bf16(0xc0a0), -5.F);
  EXPECT_EQ(bf16_of_float(1.00390625F), std::nullopt);
  EXPECT_EQ(f16_of_float(65536), std::nullopt);
}

TEST(NarrowFloats, NearestHalf) {
  constexpr std::uint16_t kInfinite = 0x7c00;
  for (std::uint16_t bits = 0; bits < kInfinite; ++bits) {
    const float value = float_of_f16(bits);
    EXPECT_EQ(nearest_f16(value), bits);
    EXPECT_EQ(nearest_f16(-value), bits | 0x8000U);
    const auto next = static_cast<std::uint16_t>(bits + 1);
    const float middle = (value + (next == kInfinite ? 65536 : float_of_f16(next))) / 2;
    EXPECT_EQ(nearest_f16(std::nextafter(middle, 0.0F)), bits);
    EXPECT_EQ(nearest_f16(middle), bits % 2 == 0 ? bits : next);
    EXPECT_EQ(nearest_f16(std::nextafter(middle, 1e9F)), next);
  }
  EXPECT_EQ(nearest_f16(1e30F), kInfinite);
  EXPECT_EQ(nearest_f16(-INFINITY), 0xfc00);
  EXPECT_TRUE(std::isnan(float_of_f16(nearest_f16(NAN))));
}

}  // namespace
}  // namespace spdnn
