// The meaning of a text does not depend on its division into pieces and rounds, nor on compression.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "io/networks/text/gz.hpp"
#include "io/networks/text/matrix_market.hpp"
#include "io/networks/text/sink.hpp"
#include "io/networks/text/some_images.hpp"
#include "io/networks/text/tsv_reader.hpp"
#include "support/tsv_support.hpp"

namespace spdnn {
namespace {

using test::error_of;

template <class Read>
void for_all_pieces(const std::string& text, const Read& read) {
  const std::string gz = gzip(text.substr(0, text.size() / 2)) + gzip(text.substr(text.size() / 2));
  for (std::size_t bytes = 1; bytes <= 2 * text.size(); bytes = bytes * 5 / 4 + 1) {
    SCOPED_TRACE("pieces of " + std::to_string(bytes) + " bytes");
    TextSource plain("n.tsv", text, bytes);
    read(plain);
    if (bytes < 80) continue;  // than the longest line
    TextSource compressed("n.tsv.gz", gz, bytes);
    read(compressed);
  }
}

/// Rows that continue in the next piece, unsorted from the middle on, with values that differ from the third line on.
std::string layer_text() {
  std::string text;
  for (int output = 1; output <= 9; ++output)
    for (int input = 1; input <= 7; ++input)
      text += std::to_string(output == 6 ? 8 - input : input) + '\t' + std::to_string(output) + '\t' +
              (input == 3 ? "0.5" : "0.0625") + (output % 2 == 0 ? "\r\n" : "\n") + (output % 4 == 0 ? "\n" : "");
  return text;
}

TEST(TextPieces, LayersAreTheSame) {
  const std::string text = layer_text();
  TextSource whole("n.tsv", text);
  const CsrMatrix expected = read_tsv_layer(whole, 7, 9);
  EXPECT_EQ(expected.entries(), 63U);
  for_all_pieces(text, [&](TextSource& source) { EXPECT_TRUE(test::same(read_tsv_layer(source, 7, 9), expected)); });
}

TEST(TextPieces, ImagesAreTheSame) {
  std::string text;
  for (int image = 1; image <= 40; ++image)
    text += std::to_string(image) + ' ' + std::to_string(image * 7 % 64 + 1) + " 1\n";
  for (const std::string last : {"", "40 1 0.5\n"}) {
    const std::string all = text + last;
    TextSource whole("n.tsv", all);
    const CsrMatrix expected = read_tsv_images(whole, 64, {}).to_csr();
    for_all_pieces(
        all, [&](TextSource& source) { EXPECT_TRUE(test::same(read_tsv_images(source, 64, {}).to_csr(), expected)); });
  }
}

/// Entries of images in any order. Those of value 1 come first where `ones_first`, so that bits become rows late.
struct ShuffledImages {
  static constexpr Index kImages = 2100;
  static constexpr Index kNeurons = 70;

  ShuffledImages(unsigned seed, const std::vector<float>& values, bool ones_first) {
    std::mt19937 random(seed);
    for (int i = 0; i < 3000; ++i)
      entries[{random() % kImages, random() % kNeurons}] = values[random() % values.size()];
    std::vector<std::string> lines;
    for (const auto& [place, value] : entries)
      lines.push_back(fmt::format("{}\t{}\t{}\n", place.first + 1, place.second + 1, value));
    std::shuffle(lines.begin(), lines.end(), random);
    if (ones_first)
      std::stable_partition(lines.begin(), lines.end(),
                            [](const std::string& line) { return line.ends_with("\t1\n"); });
    text = test::joined(lines);
  }
  /// The images `ids` have these entries, but zeros, in the order of neurons.
  void expect_read(const ImageSet& read, const std::vector<Index>& ids) const {
    const CsrMatrix rows = read.to_csr();
    ASSERT_EQ(rows.rows, ids.size());
    for (Index row = 0; row < rows.rows; ++row) {
      std::vector<std::pair<Index, float>> found;
      for (Offset k = rows.offsets[row]; k < rows.offsets[row + 1]; ++k)
        found.emplace_back(rows.indices[k], rows.entry_value(k));
      std::vector<std::pair<Index, float>> expected;
      for (auto at = entries.lower_bound({ids[row], 0}); at != entries.end() && at->first.first == ids[row]; ++at)
        if (at->second != 0) expected.emplace_back(at->first.second, at->second);
      EXPECT_EQ(found, expected) << "image " << ids[row];
    }
  }

  std::map<std::pair<Index, Index>, float> entries;
  std::string text;
};

TEST(TextPieces, ImagesInAnyOrderAreThoseOfTheirEntries) {
  const std::vector<std::vector<float>> all_values{{1}, {0.5F}, {1, 0.5F}, {0, 0.5F}, {1, 0}, {0}};
  for (std::size_t kind = 0; kind < all_values.size(); ++kind) {
    const ShuffledImages images(static_cast<unsigned>(kind), all_values[kind], kind % 2 == 0);
    const Index largest = images.entries.rbegin()->first.first;
    std::vector<Index> all(largest + 1);
    std::iota(all.begin(), all.end(), Index{0});
    std::vector<Index> some;
    for (Index id = 3; id < largest; id += id % 5 + 1) some.push_back(id);
    for (const std::size_t bytes : {std::size_t{200}, std::size_t{5000}, std::size_t{1} << 20U}) {
      TextSource source("i.tsv", images.text, bytes);
      images.expect_read(read_tsv_images(source, ShuffledImages::kNeurons, {}), all);
      TextSource again("i.tsv", images.text, bytes);
      images.expect_read(read_tsv_images(again, ShuffledImages::kNeurons, largest + 1), all);
      const EntryList list{{"image", largest + 1, "neuron", ShuffledImages::kNeurons, "value"}};
      TextSource part("i.tsv", images.text, bytes);
      images.expect_read(read_some_images(part, list, some), some);
    }
  }
}

TEST(TextPieces, RowsAreCutIntoPiecesThatHaveEachOnce) {
  for (const std::vector<Offset>& degrees : std::vector<std::vector<Offset>>{{},
                                                                             {0},
                                                                             {65535},
                                                                             {65536},
                                                                             {65536, 1},
                                                                             {65536, 0},
                                                                             {65535, 1, 1},
                                                                             {1, 65535},
                                                                             {40000, 40000, 40000, 5},
                                                                             {200000, 0, 0}}) {
    std::vector<Offset> offsets{0};
    for (const Offset degree : degrees) offsets.push_back(offsets.back() + degree);
    const CsrMatrix matrix{.rows = static_cast<Index>(degrees.size()), .cols = 1, .offsets = Array<Offset>(offsets)};
    const std::vector<Index> cuts = cut_rows(matrix);
    EXPECT_EQ(cuts.front(), 0U);
    EXPECT_EQ(cuts.back(), matrix.rows);
    EXPECT_TRUE(std::adjacent_find(cuts.begin(), cuts.end(), std::greater_equal<>()) == cuts.end());
    // A piece ends with the row that fills it.
    for (std::size_t i = 1; i < cuts.size(); ++i) {
      EXPECT_LT(offsets[cuts[i] - 1] - offsets[cuts[i - 1]], Offset{65536});
      const bool last = i + 1 == cuts.size();
      EXPECT_TRUE(last || offsets[cuts[i]] - offsets[cuts[i - 1]] >= Offset{65536});
    }
  }
}

TEST(TextPieces, TheFirstBadLineIsNamed) {
  const std::string text = layer_text();
  const auto problem = [&](const std::string& end) {
    const std::string all = text + end;
    TextSource whole("n.tsv", all);
    return error_of([&] { read_tsv_layer(whole, 7, 9); }).substr(5);
  };
  for (const std::string end : {"8\t1\t1\n1\t1\t1\n", "1\t2\t0.0625\n1\t1\t1\nx\n", "1\t1\tinf"}) {
    EXPECT_NE(problem(end), "ror");
    for_all_pieces(text + end, [&](TextSource& source) {
      const std::string found = error_of([&] { read_tsv_layer(source, 7, 9); });
      EXPECT_EQ(found.substr(source.name().size()), problem(end));
    });
  }
}

TEST(TextPieces, HeadersEndAnywhere) {
  const std::string text =
      "%%MatrixMarket matrix coordinate real general\n% one\n% two\n\n3 2 3\n1 1 1\n2 1 0.5\n3 2 1\n";
  TextSource whole("m.mtx", text);
  const CsrMatrix expected = read_matrix_market_layer(whole, {}, {});
  for_all_pieces(
      text, [&](TextSource& source) { EXPECT_TRUE(test::same(read_matrix_market_layer(source, {}, {}), expected)); });
}

}  // namespace
}  // namespace spdnn
