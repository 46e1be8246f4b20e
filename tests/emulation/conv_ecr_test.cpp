// The kernel of conv_ecr and conv_pecr on the CPU: within the oracle's bound, and bit by bit the sums in the order of
// the weights.

#include <gtest/gtest.h>

#include "engines/cuda/conv_ecr/ecr.cuh"
#include "model/oracle/evaluate.hpp"
#include "support/models.hpp"

namespace spdnn::cuda {
namespace {

struct EcrCase {
  const Convolution& convolution;
  const Tensor& input;
  ImageExtents in;
  ImageExtents out;
  DirectShape shape;

  EcrCase(const testing::ModelCase& one, const Shape& output)
      : convolution(std::get<Convolution>(one.model.nodes[0].operation)),
        input(one.inputs[0]),
        in(image_extents(input.shape)),
        out(image_extents(output)),
        shape(direct_shape({in, out, 1, convolution.window})) {}
};

/// From the order N, C, H, W to N, H, W, C, or back.
std::vector<float> moved(std::span<const float> from, const ImageExtents& of, bool channels_last) {
  std::vector<float> to(from.size());
  std::size_t row = 0;
  for (Extent image = 0; image < of.images; ++image)
    for (Extent channel = 0; channel < of.channels; ++channel)
      for (Extent pixel = 0; pixel < of.pixels(); ++pixel, ++row) {
        const auto last = static_cast<std::size_t>((image * of.pixels() + pixel) * of.channels + channel);
        to[channels_last ? last : row] = from[channels_last ? row : last];
      }
  return to;
}

/// What the kernel writes, in the order N, C, H, W.
std::vector<float> computed(const EcrCase& one, const EcrTiling& tiling) {
  const Extent side = tiling.pooled ? 2 : 1;
  const ImageExtents results{one.out.images, one.out.channels, one.out.height / side, one.out.width / side};
  const auto images = static_cast<Index>(one.in.images);
  std::vector<std::byte> packed(EcrWeights::bytes(one.shape, tiling));
  const std::vector<float>& bias = one.convolution.bias;
  EcrWeights::pack(one.shape, tiling, one.convolution.weights.csr(), bias.empty() ? nullptr : bias.data(),
                   packed.data());
  const std::vector<float> x = moved(one.input.values, one.in, true);
  std::vector<float> y(static_cast<std::size_t>(results.images * results.channels * results.pixels()), NAN);
  const EcrArgs args = ecr_args(one.shape, tiling, images, packed.data(), x.data(), y.data());
  with_ecr_config(tiling, [&]<class Config> {
    emulation::launch((args.warps + kEcrWarps - 1) / kEcrWarps, kEcrWarps * 32, ecr_shared_bytes(one.shape, tiling),
                      [&] { ecr_kernel<Config>(args); });
  });
  return moved(y, results, false);
}

/// The layer's tiling, and all others that it could have.
std::vector<EcrTiling> tilings_of(const DirectShape& shape, bool pooled) {
  std::vector<EcrTiling> all;
  const std::optional<EcrTiling> own = ecr_tiling(shape, pooled);
  if (!own) return all;
  if (own->columns == 4)
    for (const Index filters : {2U, 4U, 8U}) all.push_back({2, 4, filters, pooled});
  if (own->columns > 1) all.push_back({2, 2, 8, pooled});
  if (!pooled) all.push_back({1, 1, 8, false});
  return all;
}

/// Each sum by one multiply-add per weight, in their order: what conv_direct computes.
std::vector<float> sums_in_order(const EcrCase& one) {
  const CsrMatrix& weights = one.convolution.weights.csr();
  const Window& window = one.convolution.window;
  const Index taps = window.kernel[0] * window.kernel[1];
  std::vector<float> sums;
  for (Extent image = 0; image < one.out.images; ++image)
    for (Index filter = 0; filter < weights.rows; ++filter)
      for (Extent pixel = 0; pixel < one.out.pixels(); ++pixel) {
        float sum = 0;
        for (Offset at = weights.offsets[filter]; at < weights.offsets[filter + 1]; ++at) {
          const Index tap = weights.indices[at] % taps;
          const auto place = [&](std::size_t axis, Extent out, Index of_tap) {
            return out * window.stride[axis] + Extent{of_tap} * window.dilation[axis] - window.pad_begin[axis];
          };
          const Extent row = place(0, pixel / one.out.width, tap / window.kernel[1]);
          const Extent column = place(1, pixel % one.out.width, tap % window.kernel[1]);
          if (row < 0 || row >= one.in.height || column < 0 || column >= one.in.width) continue;
          const Extent channel = image * one.in.channels + weights.indices[at] / taps;
          const auto number = static_cast<std::size_t>((channel * one.in.height + row) * one.in.width + column);
          sum = std::fmaf(weights.entry_value(at), one.input.values[number], sum);
        }
        sums.push_back(sum + (one.convolution.bias.empty() ? 0.0F : one.convolution.bias[filter]));
      }
  return sums;
}

/// The maxima of 2 x 2 numbers of each channel, or 0.
template <class Numbers>
auto maxima(const Numbers& numbers, const ImageExtents& of) {
  std::vector<typename Numbers::value_type> results;
  for (Extent plane = 0; plane < of.images * of.channels; ++plane)
    for (Extent row = 0; row + 1 < of.height; row += 2)
      for (Extent column = 0; column + 1 < of.width; column += 2) {
        const auto at = [&](Extent r, Extent c) {
          return numbers[(plane * of.height + row + r) * of.width + column + c];
        };
        results.push_back(std::max({at(0, 0), at(0, 1), at(1, 0), at(1, 1), typename Numbers::value_type{}}));
      }
  return results;
}

/// Convolutions of the battery without groups, with their inputs and with one of many zeros.
std::vector<testing::ModelCase> cases() {
  std::vector<testing::ModelCase> all;
  testing::Rng rng(3);
  for (testing::ModelCase& one : testing::convolution_battery()) {
    const auto* const convolution = std::get_if<Convolution>(&one.model.nodes[0].operation);
    if (convolution == nullptr || convolution->groups != 1) continue;
    all.push_back(one);
    one.inputs[0] = testing::random_tensor(rng, one.inputs[0].shape, 0.1);
    one.name += "_of_zeros";
    all.push_back(std::move(one));
  }
  return all;
}

TEST(EmulatedConvEcr, IsBitByBitTheSumInTheOrderOfTheWeights) {
  int found = 0;
  for (const testing::ModelCase& one : cases()) {
    const Bounded expected = evaluate(one.model, one.inputs)[0];
    const EcrCase of(one, expected.shape);
    const std::vector<float> sums = sums_in_order(of);
    for (const EcrTiling& tiling : tilings_of(of.shape, false)) {
      const std::vector<float> results = computed(of, tiling);
      EXPECT_LE(largest_ratio(expected, results), 1) << one.name;
      EXPECT_EQ(results, sums) << one.name << ", tile of " << tiling.rows << " x " << tiling.columns;
      ++found;
    }
  }
  EXPECT_GT(found, 150);
}

TEST(EmulatedConvPecr, IsTheMaximaOfTheSumsInTheOrderOfTheWeights) {
  int found = 0;
  for (const testing::ModelCase& one : cases()) {
    const Bounded expected = evaluate(one.model, one.inputs)[0];
    const EcrCase of(one, expected.shape);
    const std::vector<float> sums = maxima(sums_in_order(of), of.out);
    for (const EcrTiling& tiling : tilings_of(of.shape, true)) {
      EXPECT_EQ(computed(of, tiling), sums) << one.name << ", tile of " << tiling.rows << " x " << tiling.columns;
      ++found;
    }
  }
  EXPECT_GT(found, 100);
}

TEST(EmulatedConvEcr, WindowsThatNoBitmapCoversHaveNoTile) {
  DirectShape shape = direct_shape({{1, 1, 20, 20}, {1, 1, 4, 4}, 1, {.kernel = {3, 3}, .dilation = {3, 3}}});
  EXPECT_EQ(ecr_tiling(shape, false)->columns, 2U);
  shape.kernel[1] = 4;  // ten columns
  EXPECT_FALSE(ecr_tiling(shape, false));
  shape.dilation[1] = 2;
  shape.stride[0] = shape.stride[1] = 2;
  EXPECT_EQ(ecr_tiling(shape, false)->columns, 1U);
  EXPECT_FALSE(ecr_tiling(shape, true));
}

}  // namespace
}  // namespace spdnn::cuda
