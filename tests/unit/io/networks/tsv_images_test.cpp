#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "io/networks/text/gz.hpp"
#include "io/networks/text/tsv_reader.hpp"
#include "support/tsv_support.hpp"

namespace spdnn {
namespace {

using test::error_of;
using test::joined;
using test::list;
using test::same;

ImageSet parsed(const std::string& text, Index neurons = 4, std::optional<Index> count = {}) {
  TextSource source("i.tsv", text);
  return read_tsv_images(source, neurons, count);
}

std::string images_error(const std::string& text, std::optional<Index> count = {}) {
  return error_of([&] { parsed(text, 4, count); });
}

TEST(TsvImages, TheLargestIdCountsUnlessTheNumberIsGiven) {
  EXPECT_EQ(parsed("2\t1\t1\n1\t4\t1\n").images(), 2U);
  EXPECT_EQ(parsed("2\t1\t1\n1\t4\t1\n", 4, 5).images(), 5U);
  EXPECT_EQ(parsed("2\t1\t1\n1\t4\t1\n", 4, 5).nonzeros(), 2U);
  EXPECT_EQ(images_error("3\t1\t1\n", 2), "i.tsv:1:1: image 3 is outside 1..2");
}

TEST(TsvImages, OnesBecomeBitsWhereTheyAreSmaller) {
  EXPECT_TRUE(parsed("1\t1\t1\n1\t2\t1.0\n1\t3\t1e0\n").is_bits());
  const ImageSet sparse = parsed("1\t1000000\t1\n", 1000000);
  EXPECT_FALSE(sparse.is_bits());
  EXPECT_EQ(list(sparse.sparse().indices), (std::vector<Index>{999999}));
}

TEST(TsvImages, OtherValuesBecomeRows) {
  const ImageSet set = parsed("2\t1\t0.5\n1\t4\t1\n2\t3\t0\n1\t2\t0.25\n");
  ASSERT_FALSE(set.is_bits());
  EXPECT_EQ(list(set.sparse().offsets), (std::vector<Offset>{0, 2, 3}));
  EXPECT_EQ(list(set.sparse().indices), (std::vector<Index>{1, 3, 0}));
  EXPECT_EQ(list(set.sparse().values), (std::vector<float>{0.25F, 1.0F, 0.5F}));
}

TEST(TsvImages, ZerosAreDroppedAndOnesRemain) {
  const ImageSet set = parsed("1\t1\t1\n1\t2\t0\n2\t2\t0\n");
  EXPECT_EQ(set.images(), 2U);
  EXPECT_EQ(set.nonzeros(), 1U);
  EXPECT_EQ(set.max_value(), 1.0F);
  const ImageSet dark = parsed("1\t1\t0\n2\t3\t0\n");
  EXPECT_EQ(dark.images(), 2U);
  EXPECT_EQ(dark.nonzeros(), 0U);
}

TEST(TsvImages, BadLinesAreNamed) {
  EXPECT_EQ(images_error("1\t5\t1\n"), "i.tsv:1:3: neuron 5 is outside 1..4");
  EXPECT_EQ(images_error("1\t1\n"), "i.tsv:1:4: the line ends after 2 columns, expected image, neuron, value");
  EXPECT_EQ(images_error("1\t1\t1\n2\t2\t1\n1\t1\t1\n9\n"),
            "i.tsv:3:1: image 1 and neuron 1 are given twice, expected once");
  EXPECT_EQ(images_error("1\t1\t1\n1\t2\t2\n1\t1\t1\n"),
            "i.tsv:3:1: image 1 and neuron 1 are given twice, expected once");
  EXPECT_EQ(images_error("99999999999\t1\t1\n"),
            "i.tsv:1:1: image 99999999999 is outside 1..1048578 in 16 bytes, or an explicit number");
  EXPECT_EQ(images_error(""), "i.tsv: the file is empty, expected lines of text, or an explicit number of images");
}

/// About 6 MB of text in the official order: by neuron, then by image.
std::vector<std::string> lines_of_text() {
  std::mt19937_64 random(11);
  std::vector<std::string> lines;
  for (Index neuron = 1; neuron <= 100; ++neuron)
    for (Index image = 1 + static_cast<Index>(random() % 5); image <= 20000;
         image += 1 + static_cast<Index>(random() % 7))
      lines.push_back(fmt::format("{}\t{}\t1\n", image, neuron));
  return lines;
}

TEST(TsvImages, OrderDoesNotMatter) {
  std::vector<std::string> lines = lines_of_text();
  const ImageSet official = parsed(joined(lines), 100);
  ASSERT_TRUE(official.is_bits());
  EXPECT_EQ(official.nonzeros(), lines.size());
  std::shuffle(lines.begin(), lines.end(), std::mt19937_64(5));
  EXPECT_EQ(list(parsed(joined(lines), 100).bits().words), list(official.bits().words));
}

TEST(TsvImages, ALateOtherValueMovesAllToRows) {
  std::vector<std::string> lines = lines_of_text();
  const CsrMatrix ones = parsed(joined(lines), 100).to_csr();
  lines.back().replace(lines.back().size() - 2, 1, "2");
  const ImageSet set = parsed(joined(lines), 100);
  ASSERT_FALSE(set.is_bits());
  EXPECT_EQ(list(set.sparse().indices), list(ones.indices));
  EXPECT_EQ(list(set.sparse().offsets), list(ones.offsets));
  EXPECT_EQ(std::count(set.sparse().values.begin(), set.sparse().values.end(), 1.0F),
            static_cast<std::ptrdiff_t>(lines.size() - 1));
  EXPECT_EQ(set.max_value(), 2.0F);
}

TEST(TsvImages, FarFewerEntriesThanBitsStayRows) {
  std::string text;  // 3000 images x 10 million neurons: 3.75 GB as bits
  for (Index image = 1; image <= 3000; ++image) text += fmt::format("{}\t{}\t1\n", image, 3000 * image);
  const ImageSet set = parsed(text, 10000000);
  ASSERT_FALSE(set.is_bits());
  EXPECT_TRUE(set.sparse().uniform());
  EXPECT_EQ(set.sparse().indices.back(), 3000U * 3000U - 1);
}

TEST(TsvImages, TheFirstRepeatedLineWinsAlsoInParallel) {
  std::vector<std::string> lines = lines_of_text();
  for (const std::size_t bad : {lines.size() - 1, lines.size() / 2, lines.size() / 3, std::size_t{5}}) {
    lines[bad] = lines[1];
    EXPECT_TRUE(error_of([&] { parsed(joined(lines), 100); }).starts_with(fmt::format("i.tsv:{}:1: image ", bad + 1)));
  }
}

std::string gz_error(const std::string& bytes) {
  return error_of([&] {
    TextSource source("i.tsv.gz", bytes);
    read_tsv_images(source, 4, {});
  });
}

TEST(Gz, MembersFollowOneAnother) {
  const std::string bytes = gzip("1\t1\t1\n1\t") + gzip("2\t1\n") + std::string(100, '\0');
  TextSource source("i.tsv.gz", bytes);
  EXPECT_EQ(read_tsv_images(source, 4, {}).nonzeros(), 2U);
}

TEST(Gz, ManyRoundsAreTheSameText) {
  const std::string text = joined(lines_of_text());
  const std::string bytes = gzip(text);
  TextSource source("i.tsv.gz", bytes);
  EXPECT_EQ(list(read_tsv_images(source, 100, {}).bits().words), list(parsed(text, 100).bits().words));
  TextSource pieces("i.tsv.gz", bytes);
  std::string back;
  for (std::string_view round = pieces.next(1000); !round.empty(); round = pieces.next(1000)) {
    EXPECT_EQ(round.back(), '\n');
    back += round;
  }
  EXPECT_EQ(back, text);
}

TEST(Gz, WhatIsNoWholeGzipIsAnError) {
  const std::string bytes = gzip("1\t1\t1\n1\t2\t1\n");
  for (std::size_t cut = 1; cut < bytes.size(); ++cut)
    EXPECT_TRUE(gz_error(bytes.substr(0, cut)).ends_with(": the gzip data is cut off, expected its end")) << cut;
  EXPECT_EQ(gz_error(bytes.substr(0, bytes.size() - 8)), "i.tsv.gz:3:1: the gzip data is cut off, expected its end");
  EXPECT_EQ(gz_error(""), "i.tsv.gz:1:1: the file is empty, expected gzip data");
  EXPECT_EQ(gz_error(gzip("")), "i.tsv.gz: the file is empty, expected lines of text, or an explicit number of images");
  EXPECT_EQ(gz_error("1\t1\t1\n"), "i.tsv.gz:1:1: damaged or no gzip data (zlib: incorrect header check)");
  EXPECT_EQ(gz_error(bytes + "rubbish"), "i.tsv.gz:3:1: damaged or no gzip data (zlib: incorrect header check)");
  std::string damaged = bytes;
  damaged[damaged.size() - 6] ^= 1;  // in the checksum
  EXPECT_EQ(gz_error(damaged), "i.tsv.gz:3:1: damaged or no gzip data (zlib: incorrect data check)");
}

TEST(Gz, DamageHasALineHoweverLongTheTextBeforeIt) {
  const std::string text = joined(lines_of_text());
  std::string bytes = gzip(text);
  bytes[bytes.size() - 5] ^= 1;
  const std::string lines = std::to_string(std::count(text.begin(), text.end(), '\n') + 1);
  EXPECT_EQ(error_of([&] {
              TextSource source("i.tsv.gz", bytes);
              read_tsv_images(source, 100, {});
            }),
            "i.tsv.gz:" + lines + ":1: damaged or no gzip data (zlib: incorrect data check)");
}

}  // namespace
}  // namespace spdnn
