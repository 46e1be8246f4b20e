#include <gtest/gtest.h>

#include "core/types/narrow_floats.hpp"
#include "core/types/plan.hpp"
#include "spdnn/categories.hpp"
#include "spdnn/images.hpp"

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
