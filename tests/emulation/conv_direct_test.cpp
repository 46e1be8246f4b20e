// The kernels of conv_direct on the CPU, within the oracle's bound.

#include <gtest/gtest.h>

#include "blocks_of_images.hpp"
#include "engines/cuda/conv_direct/direct.cuh"
#include "model/oracle/evaluate.hpp"
#include "support/models.hpp"

namespace spdnn::cuda {
namespace {

struct Launch {
  DirectArgs args;
  unsigned blocks;
  std::size_t bytes;

  template <class Config>
  void run() const {
    emulation::launch(blocks, kDirectThreads, bytes, [&] { direct_kernel<Config, ThreadsReader>(args, {}); });
  }
  template <Index kColumns>
  void run_default() const {
    args.shape.stride[1] == 1 ? run<DirectConfig<kColumns, 1>>() : run<DirectConfig<kColumns, 0>>();
  }
  template <Index kImages>
  void run_equal() const {
    args.shape.stride[1] == 1 ? run<DirectConfig<7, 1, kImages, true>>() : run<DirectConfig<7, 0, kImages, true>>();
  }
  void run_as_tiled() const {
    const DirectForm& form = args.tiling.form;
    if (form.equal) return form.images == 2 ? run_equal<2>() : form.images == 4 ? run_equal<4>() : run_equal<8>();
    switch (args.tiling.columns) {
      case 7:
        return run_default<7>();
      case 4:
        return run_default<4>();
      case 2:
        return run_default<2>();
      default:
        return run_default<1>();
    }
  }
};

/// The largest ratio to the oracle's bound; infinite if no tile fits into a block's shared memory.
double ratio(const testing::ModelCase& one, std::size_t block_bytes, const DirectForm& form = {}) {
  const auto& convolution = std::get<Convolution>(one.model.nodes[0].operation);
  const std::vector<Bounded> expected = evaluate(one.model, one.inputs);
  const ImageExtents in = image_extents(one.inputs[0].shape);
  const ImageExtents out = image_extents(expected[0].shape);
  const DirectShape shape = direct_shape({in, out, 1, convolution.window});
  const CsrMatrix& weights = convolution.weights;
  const std::optional<DirectTiling> tiling = direct_tiling(shape, weights.entries(), block_bytes, form);
  if (!tiling) return INFINITY;
  const std::size_t entries = DirectWeights::entries(shape, *tiling, weights);
  EXPECT_GE(entries, weights.entries());
  std::vector<std::byte> packed(DirectWeights::bytes(shape, *tiling, entries));
  DirectWeights::pack(shape, *tiling, weights, convolution.bias.empty() ? nullptr : convolution.bias.data(),
                      packed.data());
  const std::size_t part = DirectWeights::largest_part(shape, *tiling, weights);
  const std::vector<float> x = blocked(one.inputs[0], in.images, in.channels * in.pixels());
  std::vector<float> y(shape.blocks * shape.out_block * 32);
  const Launch launch{.args = direct_args(shape, *tiling, packed.data(), part, x.data(), {}, y.data()),
                      .blocks = static_cast<unsigned>(direct_blocks(shape, *tiling)),
                      .bytes = direct_shared_bytes(*tiling, part)};
  launch.run_as_tiled();
  return largest_ratio(expected[0], in_rows(y, out.images, out.channels * out.pixels()));
}

/// With room for all channels, and for few of them at a time.
void expect_within_the_bound(const DirectForm& form, std::size_t little_memory) {
  int several_chunks = 0;
  for (const testing::ModelCase& one : testing::convolution_battery()) {
    const auto* const convolution = std::get_if<Convolution>(&one.model.nodes[0].operation);
    if (convolution == nullptr || convolution->groups != 1) continue;
    EXPECT_LE(ratio(one, std::size_t{200} << 10U, form), 1) << one.name;
    const double with_little_memory = ratio(one, little_memory, form);
    if (with_little_memory == INFINITY) continue;
    EXPECT_LE(with_little_memory, 1) << one.name;
    ++several_chunks;
  }
  EXPECT_GT(several_chunks, 10);
}

TEST(EmulatedConvDirect, StaysWithinTheBound) { expect_within_the_bound({}, std::size_t{60} << 10U); }

class EmulatedConvUniform : public ::testing::TestWithParam<Index> {};

TEST_P(EmulatedConvUniform, StaysWithinTheBound) {
  expect_within_the_bound({.images = GetParam(), .equal = true}, std::size_t{60} << 10U);
}

INSTANTIATE_TEST_SUITE_P(SubBatches, EmulatedConvUniform, ::testing::Values(2, 4, 8));

}  // namespace
}  // namespace spdnn::cuda
