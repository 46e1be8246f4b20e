#include "io/networks/text/matrix_market.hpp"

#include "spdnn/files.hpp"
#include "support/tsv_support.hpp"

namespace spdnn {
namespace {

using test::contents;
using test::error_of;
using test::list;
using test::Scratch;

const std::string real_banner = "%%MatrixMarket matrix coordinate real general\n";

CsrMatrix market_matrix(const std::string& text, std::optional<Index> inputs = {}, std::optional<Index> outputs = {}) {
  TextSource source("m.mtx", text);
  return read_matrix_market_layer(source, inputs, outputs);
}

TEST(MatrixMarket, ALayerIsInputsByOutputs) {
  const CsrMatrix m = market_matrix(
      "%%matrixmarket MATRIX coordinate Real general\r\n% comment\n\n%\n 3 2  3\n3 1 0.5\n1 1 -2\n2 2 4e0");
  EXPECT_EQ(m.rows, 2U);
  EXPECT_EQ(m.cols, 3U);
  EXPECT_EQ(list(m.offsets), (std::vector<Offset>{0, 2, 3}));
  EXPECT_EQ(list(m.indices), (std::vector<Index>{0, 2, 1}));
  EXPECT_EQ(list(m.values), (std::vector<float>{-2.0F, 0.5F, 4.0F}));
}

TEST(MatrixMarket, PatternAndInteger) {
  const CsrMatrix pattern = market_matrix("%%MatrixMarket matrix coordinate pattern general\n2 2 2\n1 1\n2 2\n");
  EXPECT_TRUE(pattern.uniform());
  EXPECT_EQ(pattern.value, 1.0F);
  EXPECT_EQ(market_matrix("%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 1 -7\n").value, -7.0F);
  EXPECT_EQ(market_matrix(real_banner + "2 2 0\n").entries(), 0U);
}

TEST(MatrixMarket, ImagesAreRows) {
  TextSource source("m.mtx", "%%MatrixMarket matrix coordinate pattern general\n3 4 2\n1 4\n2 1\n");
  const ImageSet set = read_matrix_market_images(source, 4, {});
  EXPECT_EQ(set.images(), 3U);
  EXPECT_EQ(set.neurons(), 4U);
  EXPECT_EQ(set.nonzeros(), 2U);
}

TEST(MatrixMarket, BadFilesAreNamed) {
  const std::string expected = ", expected %%MatrixMarket matrix coordinate real|integer|pattern general|symmetric";
  const std::vector<std::pair<std::string, std::string>> cases{
      {"1 1 1\n", "m.mtx:1:1: '1' is not supported" + expected},
      {"%%MatrixMarket matrix array real general\n", "m.mtx:1:23: 'array' is not supported" + expected},
      {"%%MatrixMarket matrix coordinate complex general\n", "m.mtx:1:34: 'complex' is not supported" + expected},
      {"%%MatrixMarket matrix coordinate real hermitian\n", "m.mtx:1:39: 'hermitian' is not supported" + expected},
      {"%%MatrixMarket matrix coordinate real symmetric\n2 3 0\n",
       "m.mtx:2:1: a symmetric matrix of 2 x 3, expected as many rows as columns"},
      {"%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n2 1 1\n1 2 1\n",
       "m.mtx:4:1: input 1 and output 2 are given twice, expected once"},
      {"%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n2 1 1\n",
       "m.mtx:2:1: the header states 2 entries, but the file has 1"},
      {"%%MatrixMarket matrix coordinate real\n", "m.mtx:1:38: the line ends after 4 columns" + expected},
      {real_banner + "% only comments\n",
       "m.mtx:3:1: the file ends in its header, expected a line of rows, columns, entries"},
      {real_banner + "2 2\n", "m.mtx:2:4: the line ends after 2 columns, expected rows, columns, entries"},
      {real_banner + "2 2 1 7\n1 1 1\n", "m.mtx:2:7: extra column '7', expected rows, columns, entries"},
      {real_banner + "0 2 1\n", "m.mtx:2:1: number of rows 0 is outside 1..2147483647"},
      {real_banner + "2 2 5\n", "m.mtx:2:5: number of entries 5 is outside 0..4"},
      {real_banner + "2 2 1\n3 1 1\n", "m.mtx:3:1: input 3 is outside 1..2"},
      {real_banner + "2 2 1\n1 1\n", "m.mtx:3:4: the line ends after 2 columns, expected input, output, weight"},
      {real_banner + "% c\n2 2 2\n1 1 1\n1 1 1\n", "m.mtx:5:1: input 1 and output 1 are given twice, expected once"},
      {real_banner + "2 2 2\n2 2 1\n2 2 1\n", "m.mtx:4:1: input 2 and output 2 are given twice, expected once"},
      {real_banner + "2 2 2\n1 1 1\n", "m.mtx:2:1: the header states 2 entries, but the file has 1"},
      {real_banner + "2 2 1\n1 1 1\n1 2 1\n", "m.mtx:2:1: the header states 1 entries, but the file has 2"},
      {"%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 1 1\n",
       "m.mtx:3:5: extra column '1', expected input, output"},
      {"", "m.mtx:1:1: the file ends in its header, expected a line of rows, columns, entries"},
  };
  for (const auto& [text, message] : cases)
    EXPECT_EQ(error_of([&, &file = text] { market_matrix(file); }), message) << text;
  EXPECT_EQ(error_of([&] { market_matrix(real_banner + "2 3 0\n", 2, 2); }),
            "m.mtx:2:1: the matrix is 2 x 3, expected 2 columns, one per output");
}

TEST(MatrixMarket, SymmetricFilesHoldEachPairOnce) {
  const std::string banner = "%%MatrixMarket matrix coordinate integer symmetric\n";
  const CsrMatrix both = market_matrix(real_banner + "3 3 5\n1 1 4\n2 1 5\n1 2 5\n3 2 -6\n2 3 -6\n");
  EXPECT_TRUE(test::same(market_matrix(banner + "3 3 3\n1 1 4\n2 1 5\n3 2 -6\n"), both));
  EXPECT_TRUE(test::same(market_matrix(banner + "3 3 3\n2 3 -6\n1 2 5\n1 1 4\n"), both)) << "either half will do";
  const CsrMatrix pattern = market_matrix("%%MatrixMarket matrix coordinate pattern symmetric\n2 2 1\n2 1\n");
  EXPECT_TRUE(
      test::same(pattern, market_matrix("%%MatrixMarket matrix coordinate pattern general\n2 2 2\n2 1\n1 2\n")));
  for (const char* const half : {"300 1\n", "1 300\n"}) {
    const std::string text = std::string("%%MatrixMarket matrix coordinate pattern symmetric\n300 300 1\n") + half;
    TextSource source("m.mtx", text);
    const CsrMatrix images = read_matrix_market_images(source, {}, {}).to_csr();
    EXPECT_EQ(images.rows, 300U);
    EXPECT_EQ(images.degree(0), 1U);
    EXPECT_EQ(images.degree(299), 1U) << half;
  }
}

TEST(MatrixMarket, SizesAreBelievedAsFarAsTheFileGoes) {
  EXPECT_EQ(
      error_of([&] { market_matrix(real_banner + "64 100000000 1\n1 1 1\n"); }),
      "m.mtx:2:1: 100000000 columns, one per output, expected at most 1048584 in 67 bytes, or an explicit number");
  EXPECT_EQ(market_matrix(real_banner + "64 2000000 1\n1 1 1\n", 64, 2000000).rows, 2000000U);
}

TEST(MatrixMarket, Writes) {
  const Scratch scratch;
  CsrMatrix m = market_matrix(real_banner + "3 2 3\n3 1 0.0625\n1 1 0.0625\n2 2 0.3\n");
  write_matrix_market_layer(scratch / "m.mtx", m);
  EXPECT_EQ(contents(scratch / "m.mtx"), real_banner + "3 2 3\n1 1 6.250000e-02\n3 1 6.250000e-02\n2 2 3.000000e-01\n");
  const ImageSet set{
      market_matrix("%%MatrixMarket matrix coordinate pattern general\n3 2 3\n3 1\n1 1\n2 2\n")};  // 2 images
  for (const ImageSet& form : {set, ImageSet{set.to_bits()}}) {
    write_images(scratch / "i.mtx", form);
    EXPECT_EQ(contents(scratch / "i.mtx"), "%%MatrixMarket matrix coordinate pattern general\n2 3 3\n1 1\n1 3\n2 2\n");
  }
}

TEST(MatrixMarket, LayersMustFitTogether) {
  const Scratch scratch;
  test::write(scratch / "n3-l1.mtx", real_banner + "3 2 1\n1 1 1\n");
  test::write(scratch / "n3-l2.mtx", real_banner + "4 1 1\n1 1 1\n");
  EXPECT_EQ(error_of([&] { read_network(scratch.path(), {}); }),
            (scratch / "n3-l2.mtx").string() + ": the layer has 4 inputs, expected 2: the outputs of the layer before");
  test::write(scratch / "n3-l2.mtx", real_banner + "1 5 1\n1 1 1\n");
  EXPECT_EQ(error_of([&] { read_network(scratch.path(), {}); }),
            (scratch / "n3-l2.mtx").string() + ": the layer has 1 inputs, expected 2: the outputs of the layer before");
  test::write(scratch / "n3-l2.mtx", real_banner + "2 5 1\n1 1 1\n");
  EXPECT_EQ(error_of([&] { read_network(scratch.path(), {}); }), "no error");
  for (const char* const rows : {"2", "4"}) {
    test::write(scratch / "n3-l1.mtx", real_banner + rows + " 2 1\n1 1 1\n");
    EXPECT_EQ(error_of([&] { read_network(scratch.path(), {}); }),
              (scratch / "n3-l1.mtx").string() + ": the matrix is " + rows +
                  " x 2, expected 3 rows as the name says, or the numbers given");
  }
  test::write(scratch / "n3-l1.mtx", real_banner + "3 2 1\n1 1 1\n");
  EXPECT_EQ(error_of([&] { read_network(scratch.path(), {.neurons = {3}}); }),
            (scratch / "n3-l1.mtx").string() + ":2:1: the matrix is 3 x 2, expected 3 columns, one per output");
}

}  // namespace
}  // namespace spdnn
