// The kernel that unfolds the input of a convolution, on the CPU: the product of the filters and the unfolded input is
// the convolution.

#include <gtest/gtest.h>

#include "blocks_of_images.hpp"
#include "engines/cuda/conv_lowered/unfold.cuh"
#include "model/operations/geometry.hpp"
#include "model/oracle/evaluate.hpp"
#include "support/models.hpp"

namespace spdnn::cuda {
namespace {

Unfolding unfolding_of(const Convolution& convolution, const ImageExtents& in, const ImageExtents& out) {
  Unfolding unfolding{.channels = static_cast<Index>(in.channels)};
  for (std::size_t axis = 0; axis < 2; ++axis) {
    unfolding.in[axis] = static_cast<Index>(in.spatial(axis));
    unfolding.out[axis] = static_cast<Index>(out.spatial(axis));
    unfolding.kernel[axis] = convolution.window.kernel[axis];
    unfolding.stride[axis] = convolution.window.stride[axis];
    unfolding.dilation[axis] = convolution.window.dilation[axis];
    unfolding.pad[axis] = convolution.window.pad_begin[axis];
  }
  return unfolding;
}

/// The largest deviation of product and convolution, in units of the oracle's bound.
double ratio_of_product(const testing::ModelCase& one) {
  const auto& convolution = std::get<Convolution>(one.model.nodes[0].operation);
  const Bounded expected = evaluate(one.model, one.inputs)[0];
  const ImageExtents in = image_extents(one.inputs[0].shape);
  const ImageExtents out = image_extents(expected.shape);
  const Unfolding unfolding = unfolding_of(convolution, in, out);
  const std::vector<float> x = blocked(one.inputs[0], in.images, in.channels * in.pixels());
  std::vector<float> matrix(unfolding.rows() * unfolding.columns(), NAN);
  const Index pieces = unfold_pieces(unfolding);
  const unsigned blocks = std::min(pieces / 8 + 1, 3U);
  emulation::launch(blocks, kUnfoldThreads, 0, [&] { unfold_kernel(x.data(), unfolding, pieces, matrix.data()); });
  const CsrMatrix& weights = convolution.weights;
  const auto plane = static_cast<std::size_t>(out.pixels());
  std::vector<float> found(static_cast<std::size_t>(out.images) * weights.rows * plane);
  for (std::size_t image = 0; image < static_cast<std::size_t>(out.images); ++image)
    for (std::size_t filter = 0; filter < weights.rows; ++filter)
      for (std::size_t pixel = 0; pixel < plane; ++pixel) {
        double sum = convolution.bias.empty() ? 0 : convolution.bias[filter];
        for (Offset at = weights.offsets[filter]; at < weights.offsets[filter + 1]; ++at)
          sum +=
              double{weights.entry_value(at)} * matrix[weights.indices[at] * unfolding.columns() + pixel * 32 + image];
        found[(image * weights.rows + filter) * plane + pixel] = static_cast<float>(sum);
      }
  return largest_ratio(expected, found);
}

TEST(EmulatedUnfolding, TheProductIsTheConvolution) {
  int cases = 0;
  for (const testing::ModelCase& one : testing::convolution_battery()) {
    const auto* const convolution = std::get_if<Convolution>(&one.model.nodes[0].operation);
    if (convolution == nullptr || convolution->groups != 1 || one.inputs[0].shape.front() > 32) continue;
    EXPECT_LE(ratio_of_product(one), 1) << one.name;
    ++cases;
  }
  EXPECT_GT(cases, 10);
}

}  // namespace
}  // namespace spdnn::cuda
