#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "io/packed/digests.hpp"
#include "io/packed/read_write.hpp"
#include "support/networks.hpp"
#include "temporary_directory.hpp"

namespace spdnn {
namespace {

using testing::make_matrix;
using testing::Rows;

/// Images of `neurons` neurons; image i has those whose numbers it divides.
ImageSet divided(Index images, Index neurons) {
  Rows rows(images);
  for (Index i = 0; i < images; ++i)
    for (Index j = 0; j < neurons; j += i + 1) rows[i].emplace_back(j, 1.0F);
  return {make_matrix(neurons, rows, true)};
}

TEST(ImageDigest, IsTheSameInEveryForm) {
  for (const Index neurons : {1U, 63U, 64U, 65U, 2000U}) {
    const ImageSet sparse = divided(3000, neurons);  // several blocks of the digest, the last not full
    const auto digest = image_digest(sparse);
    ASSERT_TRUE(digest);
    EXPECT_EQ(image_digest({sparse.to_bits()}), digest);
    CsrMatrix with_values = sparse.sparse();
    with_values.values = Array<float>(std::vector<float>(with_values.entries(), 1.0F));
    EXPECT_EQ(image_digest({with_values}), digest);
    const TemporaryDirectory directory;
    for (const char* name : {"i.spdnn", "i.mtx", "i.tsv"}) {
      write_images(directory / name, sparse);
      EXPECT_EQ(image_digest(read_images(directory / name, neurons, 3000)), digest) << name;
    }
  }
}

TEST(ImageDigest, TellsWhatDiffers) {
  const ImageSet images = divided(3000, 65);
  const auto digest = image_digest(images);
  std::vector<Index> order(images.images());
  std::iota(order.begin(), order.end(), Index{0});
  std::swap(order[1], order[2]);
  EXPECT_NE(image_digest(images.select(order)), digest);
  EXPECT_NE(image_digest({images.select(order).to_bits()}), digest);
  EXPECT_NE(image_digest(images.slice(0, 2999)), digest);
  EXPECT_NE(image_digest(divided(3000, 66)), digest);
  for (const Index image : {Index{0}, Index{2999}}) {
    ImageSet moved = images;
    CsrMatrix& matrix = std::get<CsrMatrix>(moved.data);
    std::vector<Index> indices(matrix.indices.begin(), matrix.indices.end());
    indices[matrix.offsets[image + 1] - 1] = image == 0 ? 64 : 1;  // its last neuron
    matrix.indices = Array<Index>(std::move(indices));
    if (image == 0)
      EXPECT_EQ(image_digest(moved), digest);
    else
      EXPECT_NE(image_digest(moved), digest);
  }
}

TEST(ImageDigest, IsOfZerosAndOnesOnly) {
  EXPECT_FALSE(image_digest({make_matrix(4, {{{0, 1.0F}, {2, 0.5F}}})}));
  EXPECT_FALSE(image_digest({make_matrix(4, {{{0, 2.0F}, {2, 2.0F}}}, true)}));
  EXPECT_FALSE(image_digest({make_matrix(4, {{{2, 1.0F}, {2, 1.0F}}})})) << "1 + 1";
  EXPECT_EQ(image_digest({make_matrix(4, {{{0, 1.0F}, {2, 0.0F}}})}), image_digest({make_matrix(4, {{{0, 1.0F}}})}));
  EXPECT_TRUE(image_digest({make_matrix(4, {})}));
}

TEST(ImageDigest, WithValuesTellsWhatDiffers) {
  const auto hashes = [](const testing::Rows& rows) { return hashes_with_values({make_matrix(4, rows)}); };
  const auto sound = hashes({{{0, 1.0F}, {2, 0.5F}}, {{3, 2.0F}}});
  EXPECT_EQ(hashes({{{0, 1.0F}, {2, 0.5F}}, {{3, 2.0F}}}), sound);
  EXPECT_NE(hashes({{{0, 1.0F}}, {{2, 0.5F}, {3, 2.0F}}}), sound) << "of another image";
  EXPECT_NE(hashes({{{0, 1.0F}, {2, 0.5F}, {3, 2.0F}}, {}}), sound);
  EXPECT_NE(hashes({{{0, 1.0F}, {1, 0.5F}}, {{3, 2.0F}}}), sound);
  EXPECT_NE(hashes({{{0, 1.0F}, {2, 0.25F}}, {{3, 2.0F}}}), sound);
  EXPECT_NE(hashes({{{3, 2.0F}}, {{0, 1.0F}, {2, 0.5F}}}), sound);
}

TEST(ImageSet, CountsImagesWithoutANonzero) {
  const ImageSet images{make_matrix(70, {{}, {{69, 1.0F}}, {{3, 0.0F}}, {{0, 0.0F}, {1, 2.0F}}, {}})};
  EXPECT_EQ(images.empty_images(), 3U);
  const ImageSet ones{make_matrix(70, {{}, {{69, 1.0F}}, {{0, 1.0F}}, {}}, true)};
  EXPECT_EQ(ones.empty_images(), 2U);
  EXPECT_EQ(ImageSet{ones.to_bits()}.empty_images(), 2U);
  EXPECT_EQ(ImageSet{make_matrix(70, {})}.empty_images(), 0U);
}

}  // namespace
}  // namespace spdnn
