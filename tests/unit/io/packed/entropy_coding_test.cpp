// Huffman codes of bytes, and the columns and codes that packed models store with them.

#include "io/packed/entropy_coding.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "support/message_of.hpp"
#include "support/models.hpp"

namespace spdnn::packed {
namespace {

std::vector<std::byte> random_bytes(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::geometric_distribution<int> geometric(0.3);
  std::vector<std::byte> bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(geometric(random));
  return bytes;
}

std::string decoding_error(const std::vector<std::byte>& coded) {
  return testing::message_of<std::invalid_argument>([&] { huffman_decoded(coded); });
}

TEST(EntropyCoding, HuffmanCodesAreReadBackAndAreNearTheEntropy) {
  for (const std::size_t count : {0, 1, 7, 1000, 300000}) {
    const std::vector<std::byte> bytes = random_bytes(count, 1);
    const std::vector<std::byte> coded = huffman_coded(bytes);
    EXPECT_EQ(huffman_decoded(coded), bytes);
    const double entropy = -(0.3 * std::log2(0.3) + 0.7 * std::log2(0.7)) / 0.3;  // bits of a byte
    EXPECT_LT(static_cast<double>(coded.size()), 1.03 * entropy / 8 * static_cast<double>(count) + 100) << count;
  }
}

TEST(EntropyCoding, DamagedHuffmanCodesAreRefused) {
  const std::vector<std::byte> bytes = random_bytes(500, 2);
  const std::vector<std::byte> coded = huffman_coded(bytes);
  for (std::size_t length = 0; length < coded.size(); ++length)
    EXPECT_NE(decoding_error({coded.begin(), coded.begin() + static_cast<std::ptrdiff_t>(length)}), "no error");
  std::vector<std::byte> longer = coded;
  longer.emplace_back();
  EXPECT_EQ(decoding_error(longer), "a Huffman code is damaged");
  const auto with_count = [&](std::uint64_t count) {
    std::vector<std::byte> changed = coded;
    std::memcpy(changed.data(), &count, sizeof count);
    return decoding_error(changed);
  };
  EXPECT_EQ(with_count(499), "a Huffman code is damaged");
  EXPECT_EQ(with_count(501), "a Huffman code is damaged");
  EXPECT_EQ(with_count(~std::uint64_t{0}), "a Huffman code is too short for its number of bytes");
  // No more than a bit for each byte: what a deflate stream with matches would need.
  EXPECT_EQ(with_count(8 * (coded.size() - sizeof(std::uint64_t) + 1)),
            "a Huffman code is too short for its number of bytes");
  const std::vector<std::byte> equal(1'000'000);
  EXPECT_EQ(huffman_decoded(huffman_coded(equal)), equal);
}

TEST(EntropyCoding, PlacesAreReadBack) {
  testing::Rng rng(3);
  for (const double density : {0.0, 0.003, 0.05, 1.0}) {
    const CsrMatrix matrix = testing::random_weights(rng, 9, 70000, density);
    const EntryPlaces read = places_of(place_bytes({matrix.offsets, matrix.indices}), 9, 70000);
    EXPECT_EQ(std::vector<Offset>(read.offsets.begin(), read.offsets.end()),
              std::vector<Offset>(matrix.offsets.begin(), matrix.offsets.end()));
    EXPECT_EQ(std::vector<Index>(read.indices.begin(), read.indices.end()),
              std::vector<Index>(matrix.indices.begin(), matrix.indices.end()));
  }
}

TEST(EntropyCoding, GapsOfEveryLengthAreReadBack) {
  constexpr Index kCols = 0x7fffffff;
  for (unsigned bits = 0; bits < 31; ++bits)
    for (const Index gap : {(Index{1} << bits) - 1, Index{1} << bits}) {
      const EntryPlaces given{Array<Offset>({0, 1, 3}), Array<Index>({gap, 0, gap})};
      if (gap == 0) continue;
      const EntryPlaces read = places_of(place_bytes(given), 2, kCols);
      EXPECT_EQ(std::vector<Offset>(read.offsets.begin(), read.offsets.end()), (std::vector<Offset>{0, 1, 3}));
      EXPECT_EQ(std::vector<Index>(read.indices.begin(), read.indices.end()), (std::vector<Index>{gap, 0, gap}));
    }
}

TEST(EntropyCoding, PlacesOutsideTheMatrixAreRefused) {
  const std::vector<Offset> offsets{0, 1, 3};
  const std::vector<Index> indices{2, 0, 200};
  const std::vector<std::byte> bytes = place_bytes({offsets, indices});
  const auto error = [&](std::vector<std::byte> given, Index rows, Index cols) {
    return testing::message_of<std::invalid_argument>([&] { places_of(given, rows, cols); });
  };
  EXPECT_EQ(error(bytes, 2, 201), "no error");
  EXPECT_EQ(error(bytes, 2, 200), "row 2: a column beyond 200");
  EXPECT_EQ(error(bytes, 1, 201), "more columns than rows");
  EXPECT_EQ(error(bytes, 3, 201), "columns are missing");
  EXPECT_EQ(error(bytes, kMaxIndex, 201), "columns are missing");
  EXPECT_EQ(error(std::vector<std::byte>(7, std::byte{0xff}), 1, 9), "a gap between columns is too large");
}

TEST(EntropyCoding, CodesOfFewBitsHaveAByteEach) {
  for (const int bits : {1, 2, 4, 8}) {
    std::mt19937 random(5);
    std::vector<std::byte> bytes(13);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() & ((1U << bits) - 1));
    const std::vector<std::byte> codes = without_gaps(bytes, bits);
    EXPECT_EQ(codes.size(), (13 * std::size_t(bits) + 7) / 8);
    EXPECT_EQ(one_byte_each(codes, 13, bits), bytes);
  }
  EXPECT_EQ(testing::message_of<std::invalid_argument>([] { without_gaps(std::vector{std::byte{4}}, 2); }),
            "a code has more bits than the others");
}

}  // namespace
}  // namespace spdnn::packed
