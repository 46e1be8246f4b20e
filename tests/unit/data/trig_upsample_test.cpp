#include "data/official/trig_upsample.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <vector>

#include "data/counter_random.hpp"

namespace spdnn {
namespace {

using Complex = std::complex<double>;
using Grid = std::vector<std::vector<Complex>>;

/// The line stretched to `size` values by definition: its spectrum is zero-padded, with the Nyquist term on the
/// negative side.
std::vector<Complex> stretch(const std::vector<Complex>& line, std::size_t size) {
  const auto n = static_cast<int>(line.size());
  std::vector<Complex> result(size);
  for (int v = -n / 2; v < n / 2; ++v) {
    Complex term = 0;
    for (int x = 0; x < n; ++x) term += line[x] * std::polar(1.0, -2 * std::numbers::pi * (v * x % n) / n);
    for (std::size_t c = 0; c < size; ++c) {
      const double turn = static_cast<double>(v) * static_cast<double>(c) / static_cast<double>(size);
      result[c] += term * std::polar(1.0 / n, 2 * std::numbers::pi * turn);
    }
  }
  return result;
}

Grid transposed(const Grid& grid) {
  Grid result(grid[0].size(), std::vector<Complex>(grid.size()));
  for (std::size_t r = 0; r < grid.size(); ++r)
    for (std::size_t c = 0; c < grid[r].size(); ++c) result[c][r] = grid[r][c];
  return result;
}

/// The recipe by its definition: |value| of every pixel of the enlarged strip of images.
std::vector<std::vector<double>> magnitudes_by_definition(const std::vector<std::uint8_t>& pixels, std::size_t images,
                                                          std::size_t side) {
  Grid strip(28, std::vector<Complex>(28 * images));
  for (std::size_t p = 0; p < pixels.size(); ++p) strip[p / 28 % 28][p / 784 * 28 + p % 28] = pixels[p];
  for (auto& row : strip) row = stretch(row, side * images);
  Grid columns = transposed(strip);
  for (auto& column : columns) column = stretch(column, side);
  std::vector<std::vector<double>> result;
  for (const auto& column : columns) {
    result.emplace_back();
    for (const Complex value : column) result.back().push_back(std::abs(value));
  }
  return result;
}

class TrigUpsample : public ::testing::TestWithParam<std::pair<Index, Index>> {};

TEST_P(TrigUpsample, IsTheRecipeDoneSlowly) {
  const auto [images, side] = GetParam();
  // Noise, so that no symmetry hides a mistake, plus a pattern of alternating pixels, so that Nyquist terms matter.
  RandomStream random(1, images, side);
  std::vector<std::uint8_t> pixels(std::size_t{images} * 784);
  for (std::size_t p = 0; p < pixels.size(); ++p)
    pixels[p] = static_cast<std::uint8_t>((random.below(150) + (p % 2 == p / 28 % 2 ? 100U : 0U)));
  const auto expected = magnitudes_by_definition(pixels, images, side);
  double largest = 0;
  for (const auto& column : expected) largest = std::max(largest, *std::max_element(column.begin(), column.end()));

  const BitMatrix bits = enlarge_and_threshold(pixels, images, side, {});
  ASSERT_EQ(bits.rows, images);
  ASSERT_EQ(bits.cols, side * side);
  Offset ones = 0;
  for (Index image = 0; image < images; ++image)
    for (Index neuron = 0; neuron < bits.cols; ++neuron) {
      const bool one = expected[std::size_t{image} * side + neuron / side][neuron % side] > largest / 2;
      ASSERT_EQ(bits.test(image, neuron), one) << image << ' ' << neuron;
      ones += one ? 1U : 0U;
    }
  EXPECT_GT(ones, 0U);
  EXPECT_LT(ones, Offset{images} * bits.cols);
}

INSTANTIATE_TEST_SUITE_P(Shapes, TrigUpsample,
                         ::testing::Values(std::pair<Index, Index>{1, 32}, std::pair<Index, Index>{3, 32},
                                           std::pair<Index, Index>{2, 64}, std::pair<Index, Index>{2, 128},
                                           std::pair<Index, Index>{1, 192}, std::pair<Index, Index>{1, 256}));

TEST(TrigUpsampleArguments, AreChecked) {
  const std::vector<std::uint8_t> pixels(784);
  EXPECT_THROW(enlarge_and_threshold(pixels, 1, 48, {}), std::invalid_argument);
  EXPECT_THROW(enlarge_and_threshold(pixels, 2, 32, {}), std::invalid_argument);
  EXPECT_THROW(enlarge_and_threshold({}, 0, 32, {}), std::invalid_argument);
}

}  // namespace
}  // namespace spdnn
