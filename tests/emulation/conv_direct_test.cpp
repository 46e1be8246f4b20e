// The kernels of conv_direct on the CPU, within the oracle's bound.

#include <gtest/gtest.h>

#include "blocks_of_images.hpp"
#include "engines/cuda/conv_direct/direct.cuh"
#include "model/oracle/evaluate.hpp"
#include "support/models.hpp"

namespace spdnn::cuda {
namespace {

template <Index kColumns, Index kFilters>
void run_direct(const DirectArgs& args, unsigned grid, std::size_t bytes) {
  emulation::launch(grid, kDirectThreads, bytes, [&] {
    if (args.shape.stride[1] == 1)
      direct_kernel<kColumns, kFilters, 1, ThreadsReader>(args, {});
    else
      direct_kernel<kColumns, kFilters, 0, ThreadsReader>(args, {});
  });
}

/// The largest ratio to the oracle's bound.
double ratio(const testing::ModelCase& one, std::size_t block_bytes) {
  const auto& convolution = std::get<Convolution>(one.model.nodes[0].operation);
  const std::vector<Bounded> expected = evaluate(one.model, one.inputs);
  const ImageExtents in = image_extents(one.inputs[0].shape);
  const ImageExtents out = image_extents(expected[0].shape);
  const DirectShape shape = direct_shape({in, out, 1, convolution.window});
  const CsrMatrix& weights = convolution.weights;
  const std::optional<DirectTiling> tiling = direct_tiling(shape, weights.entries(), block_bytes);
  if (!tiling) return INFINITY;
  std::vector<std::byte> packed(DirectWeights::bytes(shape, *tiling, weights.entries()));
  DirectWeights::pack(shape, *tiling, weights, convolution.bias.empty() ? nullptr : convolution.bias.data(),
                      packed.data());
  const std::size_t part = DirectWeights::largest_part(shape, *tiling, weights);
  const std::vector<float> x = blocked(one.inputs[0], in.images, in.channels * in.pixels());
  std::vector<float> y(shape.blocks * shape.out_block * 32);
  const DirectArgs args = direct_args(shape, *tiling, packed.data(), part, x.data(), {}, y.data());
  const auto grid = static_cast<unsigned>(args.across * ((shape.out[0] + kTileRows - 1) / kTileRows) *
                                          tiling->filter_blocks * shape.blocks);
  const std::size_t bytes = direct_shared_bytes(*tiling, part);
  switch (tiling->columns) {
    case 7:
      run_direct<7, 3>(args, grid, bytes);
      break;
    case 4:
      run_direct<4, 4>(args, grid, bytes);
      break;
    case 2:
      run_direct<2, 6>(args, grid, bytes);
      break;
    default:
      run_direct<1, 8>(args, grid, bytes);
  }
  return largest_ratio(expected[0], in_rows(y, out.images, out.channels * out.pixels()));
}

/// With room for all channels, and for few of them at a time.
TEST(EmulatedConvDirect, StaysWithinTheBound) {
  int several_chunks = 0;
  for (const testing::ModelCase& one : testing::convolution_battery()) {
    const auto* const convolution = std::get_if<Convolution>(&one.model.nodes[0].operation);
    if (convolution == nullptr || convolution->groups != 1) continue;
    EXPECT_LE(ratio(one, std::size_t{200} << 10U), 1) << one.name;
    const double with_little_memory = ratio(one, std::size_t{60} << 10U);
    if (with_little_memory == INFINITY) continue;
    EXPECT_LE(with_little_memory, 1) << one.name;
    ++several_chunks;
  }
  EXPECT_GT(several_chunks, 10);
}

}  // namespace
}  // namespace spdnn::cuda
