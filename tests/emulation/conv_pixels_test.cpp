// The kernel of conv_pixels on the CPU, within the oracle's bound.

#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "engines/cuda/conv_pixels/pixels.cuh"
#include "engines/cuda/conv_pixels/quads.cuh"
#include "engines/cuda/conv_pixels/tiles.cuh"
#include "model/oracle/evaluate.hpp"
#include "support/models.hpp"
#include "support/sampled.hpp"

namespace spdnn::cuda {
namespace {

template <Index kFilters, Index kPixels>
void run_kernel(const PixelArgs& args, unsigned blocks, unsigned threads, std::size_t bytes) {
  const Index taps = args.shape.kernel[0] * args.shape.kernel[1];
  emulation::launch(blocks, threads, bytes, [&] {
    if (!args.shape.padded) return pixels_kernel<WindowSums<kFilters, kPixels, 0>>(args);
    taps <= 32 ? pixels_kernel<WindowSums<kFilters, kPixels, 32>>(args)
               : pixels_kernel<WindowSums<kFilters, kPixels, kMostTaps>>(args);
  });
}

void run_tiles(const TileArgs& args, unsigned blocks, std::size_t bytes) {
  emulation::launch(blocks, kTileThreads, bytes, [&] { tiles_kernel<kTogether, 4>(args); });
}

PixelShape shape_of(const testing::ModelCase& one, const Shape& output) {
  const auto& convolution = std::get<Convolution>(one.model.nodes[0].operation);
  return *pixel_shape(
      {image_extents(one.inputs[0].shape), image_extents(output), convolution.groups, convolution.window});
}

/// What the kernel makes of a convolution; numbers that it does not write stay NaN.
std::vector<float> convolved(const testing::ModelCase& one, const Shape& output, const PixelTiling& tiling,
                             const Functions& functions = {}, bool older = false) {
  const auto& convolution = std::get<Convolution>(one.model.nodes[0].operation);
  const PixelShape shape = shape_of(one, output);
  const CsrMatrix& weights = convolution.weights;
  const PackedPixelWeights all = packed(shape, tiling, weights);
  const PixelParts parts = parts_of(shape, tiling, weights);
  std::vector<std::byte> memory(parts.bytes);
  pack(all, convolution.bias, parts, memory.data());
  std::vector<float> y(elements(output).value(), NAN);
  const PixelArgs args{shape,
                       tiling.warps,
                       tiling.rounds,
                       tiling.bundle_blocks(shape),
                       memory.data(),
                       parts,
                       one.inputs[0].values.data(),
                       older,
                       y.data(),
                       functions};
  const unsigned blocks = tiling.blocks(shape);
  const unsigned threads = tiling.block_warps() * kPixelLanes;
  const std::size_t bytes = pixel_shared_bytes(shape, tiling, parts.entries);
  if (tiling.rows > 0)
    run_tiles({args, tiling.rows, tile_planes(shape, tiling)}, blocks, bytes);
  else if (tiling.filters > 1)
    run_kernel<kTogether, 2>(args, blocks, threads, bytes);
  else if (tiling.pixels == 1)
    run_kernel<1, 1>(args, blocks, threads, bytes);
  else if (tiling.pixels == 2)
    run_kernel<1, 2>(args, blocks, threads, bytes);
  else if (tiling.has_quads(shape))
    emulation::launch(blocks, threads, bytes, [&] { pixels_kernel<QuadSums>(args); });
  else
    run_kernel<1, 4>(args, blocks, threads, bytes);
  return y;
}

TEST(EmulatedConvPixels, StaysWithinTheBoundInEveryTiling) {
  std::size_t count = 0;
  std::size_t number = 0;
  for (const testing::ModelCase& one : testing::convolution_battery()) {
    const auto* const convolution = std::get_if<Convolution>(&one.model.nodes[0].operation);
    if (convolution == nullptr) continue;
    const Bounded expected = evaluate(one.model, one.inputs)[0];
    ++number;  // a sample takes other tilings of the next convolution
    for (PixelTiling tiling : all_pixel_tilings(shape_of(one, expected.shape))) {
      if (number++ % testing::sampled(4U, 1U) != 0) continue;
      if (tiling.rows == 0) tiling.rounds = 1 + static_cast<Index>(count % 3);
      if (tiling.rows > 1 && count % 2 == 0) --tiling.rows;
      EXPECT_LE(largest_ratio(expected, convolved(one, expected.shape, tiling)), 1)
          << one.name << ": " << tiling.filters << " filters, " << tiling.pixels << " pixels, " << tiling.warps
          << " warps, " << tiling.rows << " rows";
      ++count;
    }
  }
  EXPECT_GT(count, testing::sampled(75U, 300U));
}

/// Results depend on the number of warps alone: a bundle's entries are added in the same order whatever else differs.
TEST(EmulatedConvPixels, HasTheSameBitsForEveryNumberOfPixelsAndImages) {
  testing::Rng rng(3);
  const Shape shape{5, 6, 9, 7};
  const testing::ModelCase five =
      testing::convolution_case("five", testing::random_convolution(rng, 6, 9, testing::same_window(3, 3), 0.4), shape,
                                testing::random_tensor(rng, shape));
  const Shape output{5, 9, 9, 7};
  testing::ModelCase one = five;
  one.inputs[0].shape.front() = 1;
  one.inputs[0].values =
      Array<float>(std::vector<float>(five.inputs[0].values.begin(), five.inputs[0].values.begin() + 6 * 9 * 7));
  for (const Index warps : {1U, 2U, 4U, 8U}) {
    const std::vector<float> expected = convolved(five, output, {.pixels = 1, .warps = warps});
    for (const Index pixels : {1U, 2U, 4U})
      for (const Index rounds : {1U, 2U, 7U})
        EXPECT_EQ(convolved(five, output, {.pixels = pixels, .warps = warps, .rounds = rounds}), expected);
    EXPECT_EQ(convolved(one, {1, 9, 9, 7}, {.pixels = 1, .warps = warps}),
              std::vector<float>(expected.begin(), expected.begin() + 9 * 9 * 7));
  }
}

/// Likewise where four neighbouring pixels are read at once: of images that have one, two or more lanes of them.
TEST(EmulatedConvPixels, HasTheSameBitsForNeighbouringPixels) {
  testing::Rng rng(6);
  for (const auto& [height, width, stride] : {std::array{2U, 2U, 1U}, {2U, 4U, 1U}, {11U, 48U, 1U}, {4U, 8U, 2U}}) {
    const Shape shape{3, 6, height, width};
    const testing::ModelCase one =
        testing::convolution_case("", testing::random_convolution(rng, 6, 10, {.stride = {stride, stride}}, 0.5, 2),
                                  shape, testing::random_tensor(rng, shape));
    const Shape output{3, 10, height / stride, width / stride};
    EXPECT_EQ((PixelTiling{.pixels = 4}.has_quads(shape_of(one, output))), stride == 1);
    const std::vector<float> other = testing::random_values(rng, elements(output).value(), -1, 1);
    Functions functions;
    functions.count = 3;
    functions.all[0] = {Function::Kind::line, 0.5F, 2};
    functions.all[1] = {Function::Kind::addition, 1, 0, other.data()};
    functions.all[2] = {Function::Kind::clip, 0, INFINITY};
    for (const Index warps : {1U, 2U, 4U, 8U})
      for (const Index rounds : {1U, 3U})
        EXPECT_EQ(convolved(one, output, {.pixels = 4, .warps = warps, .rounds = rounds}, functions),
                  convolved(one, output, {.pixels = 1, .warps = warps}, functions));
  }
}

/// Likewise with the input in shared memory, where the number of rows does not matter either.
TEST(EmulatedConvPixels, HasTheSameBitsForEveryTile) {
  testing::Rng rng(5);
  const Shape shape{2, 3, 19, 17};
  const testing::ModelCase two =
      testing::convolution_case("two", testing::random_convolution(rng, 3, 13, testing::same_window(3, 3), 0.9), shape,
                                testing::random_tensor(rng, shape));
  const Shape output{2, 13, 19, 17};
  const std::vector<PixelTiling> tilings = tile_tilings(shape_of(two, output));
  ASSERT_EQ(tilings.size(), 3);
  for (PixelTiling tiling : tilings) {
    const std::vector<float> expected =
        convolved(two, output, {.filters = kTogether, .pixels = 2, .warps = tiling.warps});
    for (; tiling.rows > 0; --tiling.rows) EXPECT_EQ(convolved(two, output, tiling), expected);
  }
}

/// Bundles with many and few entries meet in each block.
TEST(PixelWeights, AreDealtToBlocksByTheirNumber) {
  std::vector<Offset> offsets{0};
  std::vector<Index> indices;
  for (Index filter = 0; filter < 16; ++filter) {
    for (Index column = 0; column <= filter; ++column) indices.push_back(column);
    offsets.push_back(indices.size());
  }
  const CsrMatrix weights = make_csr(16, 16, offsets, indices, std::vector<float>(indices.size(), 1));
  const PixelShape shape = *pixel_shape({{1, 16, 5, 5}, {1, 16, 5, 5}, 1, {}});
  EXPECT_EQ(parts_of(shape, {.pixels = 1, .warps = 1}, weights).entries, 16 * 17 / 2 / 2);
}

TEST(EmulatedConvPixels, AppliesFunctionsToSumsWithTheirBias) {
  testing::Rng rng(4);
  const Shape shape{2, 3, 6, 5};
  const testing::ModelCase one =
      testing::convolution_case("functions", testing::random_convolution(rng, 3, 8, testing::same_window(3, 3), 0.5),
                                shape, testing::random_tensor(rng, shape));
  const Shape output{2, 8, 6, 5};
  std::vector<float> other(elements(output).value());
  for (std::size_t i = 0; i < other.size(); ++i) other[i] = static_cast<float>(i % 13) - 6;
  Functions functions;
  functions.count = 2;
  functions.all[0] = {Function::Kind::addition, 1, 0, other.data()};
  functions.all[1] = {Function::Kind::clip, 0, INFINITY};
  for (const PixelTiling& tiling : all_pixel_tilings(shape_of(one, output))) {
    std::vector<float> expected = convolved(one, output, tiling);
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i] = std::max(0.0F, expected[i] + other[i]);
    for (const bool older : {false, true}) EXPECT_EQ(convolved(one, output, tiling, functions, older), expected);
  }
}

/// A lane whose window has no tap within the image reads nothing, and a filter without weights has its bias alone.
TEST(EmulatedConvPixels, ReadsNothingOutsideTheImage) {
  Convolution convolution;
  convolution.window = {.kernel = {3, 3}, .pad_begin = {4, 4}, .pad_end = {4, 4}};
  std::vector<float> ones(9, 1);
  convolution.weights = make_csr(2, 9, {0, 9, 9}, {0, 1, 2, 3, 4, 5, 6, 7, 8}, ones);
  convolution.bias = {0.5F, -2};
  const testing::ModelCase one = testing::convolution_case(
      "far", convolution, {1, 1, 2, 2}, Tensor{{1, 1, 2, 2}, Array<float>(std::vector<float>{1, 10, 100, 1000})});
  const Bounded expected = evaluate(one.model, one.inputs)[0];
  for (const PixelTiling& tiling : all_pixel_tilings(shape_of(one, expected.shape))) {
    const std::vector<float> found = convolved(one, expected.shape, tiling);
    EXPECT_EQ(found.front(), 0.5F);
    EXPECT_EQ(found.back(), -2);
    EXPECT_LE(largest_ratio(expected, found), 1);
  }
}

TEST(PixelShape, IsEmptyForWhatEntriesCannotHold) {
  const auto shape_of = [](Extent images, Extent channels, Extent side, Index kernel) {
    const ImageExtents in{images, channels, side, side};
    return pixel_shape({in, {images, 1, side - kernel + 1, side - kernel + 1}, 1, {.kernel = {kernel, kernel}}});
  };
  EXPECT_TRUE(shape_of(1, 63, 1024, 8));
  EXPECT_FALSE(shape_of(1, 64, 1024, 8));   // places of 26 bits
  EXPECT_FALSE(shape_of(64, 63, 1024, 8));  // numbers of all images
  EXPECT_FALSE(shape_of(1, 1, 1024, 9));    // taps of 6 bits
  EXPECT_FALSE(shape_of(1, 63, 1024, 8)->padded);
}

}  // namespace
}  // namespace spdnn::cuda
