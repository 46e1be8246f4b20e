// The meaning of a text does not depend on its division into pieces and rounds, nor on compression.

#include <gtest/gtest.h>

#include "io/networks/text/gz.hpp"
#include "io/networks/text/matrix_market.hpp"
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
