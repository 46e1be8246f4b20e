#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>

#include "data/generate.hpp"
#include "spdnn/error.hpp"

namespace spdnn {
namespace {

std::vector<std::uint64_t> words(const ImageSet& images) {
  return {images.bits().words.begin(), images.bits().words.end()};
}

TEST(Digits, SameSeedSameImagesWhateverTheThreads) {
  const int threads = omp_get_max_threads();
  omp_set_num_threads(1);
  const auto one = words(generate_digit_images(1024, 300, 5));
  omp_set_num_threads(3);
  EXPECT_EQ(words(generate_digit_images(1024, 300, 5)), one);
  omp_set_num_threads(threads);
  EXPECT_NE(words(generate_digit_images(1024, 300, 6)), one);
  // fewer images are the first of more
  const auto fewer = words(generate_digit_images(1024, 100, 5));
  EXPECT_TRUE(std::equal(fewer.begin(), fewer.end(), one.begin()));
}

TEST(Digits, HaveATenthOfOnesAtAnySideUnequally) {
  for (const Index side : {28, 32, 50, 64, 128}) {
    const Index images = 400;
    const ImageSet set = generate_digit_images(side * side, images, 1);
    const double pixels = side * side;
    EXPECT_NEAR(static_cast<double>(set.nonzeros()) / (images * pixels), 0.108, 0.015) << side;
    double least = 1;
    double most = 0;
    for (Index i = 0; i < images; ++i) {
      const double share = static_cast<double>(set.slice(i, 1).nonzeros()) / pixels;
      least = std::min(least, share);
      most = std::max(most, share);
    }
    EXPECT_GT(least, 0.01) << side;
    EXPECT_GT(most, 0.2) << side;
  }
}

TEST(Digits, AreColumnMajorAndLeaveTheBorderEmpty) {
  // Upright digits are taller than wide: more rows than columns have ink.
  const Index side = 64;
  const ImageSet set = generate_digit_images(side * side, 200, 1);
  std::vector<int> by_col(side);
  std::vector<int> by_row(side);
  for (Index image = 0; image < 200; ++image)
    for (Index neuron = 0; neuron < side * side; ++neuron)
      if (set.bits().test(image, neuron)) {
        ++by_col[neuron / side];
        ++by_row[neuron % side];
      }
  const auto inked = [](const std::vector<int>& lines) {
    return std::count_if(lines.begin(), lines.end(), [](int ink) { return ink > 200; });
  };
  EXPECT_GT(inked(by_row), inked(by_col));
  EXPECT_EQ(by_col.front() + by_col.back() + by_row.front() + by_row.back(), 0);
}

TEST(Digits, OddSidesAndOnePixelWork) {
  EXPECT_EQ(generate_digit_images(1, 3, 1).images(), 3U);
  EXPECT_EQ(generate_digit_images(49, 3, 1).neurons(), 49U);
}

TEST(Digits, NeedASquareNumber) {
  EXPECT_THROW(generate_digit_images(1000, 1, 1), UsageError);
  EXPECT_THROW(generate_digit_images(0, 1, 1), UsageError);
}

}  // namespace
}  // namespace spdnn
