// Convolutions of few images: every tiling within the oracle's bound, and kernels that begin before the one before them
// has ended.

#include <gtest/gtest.h>

#include "engines/cuda/conv_pixels/pixels.hpp"
#include "engines/cuda/runtime/buffer.hpp"
#include "engines/cuda/runtime/device.hpp"
#include "model/oracle/evaluate.hpp"
#include "support/models.hpp"
#include "transfers.hpp"

namespace spdnn::cuda {
namespace {

PixelShape layer_shape(const testing::ModelCase& one, const Shape& output) {
  const auto& convolution = std::get<Convolution>(one.model.nodes[0].operation);
  return *pixel_shape(
      {image_extents(one.inputs[0].shape), image_extents(output), convolution.groups, convolution.window});
}

/// A convolution's weights on the device.
class Layer {
 public:
  Layer(const testing::ModelCase& one, const Shape& output, const PixelTiling& tiling)
      : tiling_(tiling), convolution_(std::get<Convolution>(one.model.nodes[0].operation)) {
    shape_ = layer_shape(one, output);
    parts_ = parts_of(shape_, tiling, convolution_.weights);
    std::vector<std::byte> memory(parts_.bytes);
    pack(packed(shape_, tiling, convolution_.weights), convolution_.bias, parts_, memory.data());
    weights_ = DeviceBuffer<std::byte>(memory.size(), cudaStreamPerThread);
    check(cudaStreamSynchronize(cudaStreamPerThread));
    upload(weights_.data(), memory);
  }
  void run(const float* x, float* y, bool older = false) const {
    convolve_pixels(shape_, tiling_, weights_.data(), parts_, pixel_shared_bytes(shape_, tiling_, parts_.entries), x,
                    older, {}, y, cudaStreamPerThread);
  }

 private:
  PixelTiling tiling_;
  const Convolution& convolution_;
  PixelShape shape_;
  PixelParts parts_;
  DeviceBuffer<std::byte> weights_;
};

DeviceBuffer<float> on_device(const std::vector<float>& numbers) {
  DeviceBuffer<float> buffer(numbers.size(), cudaStreamPerThread);
  check(cudaStreamSynchronize(cudaStreamPerThread));
  upload(buffer.data(), numbers);
  return buffer;
}

TEST(ConvPixels, StaysWithinTheBoundInEveryTiling) {
  use_device({});
  Index number = 0;
  for (const testing::ModelCase& one : testing::convolution_battery()) {
    const auto* const convolution = std::get_if<Convolution>(&one.model.nodes[0].operation);
    if (convolution == nullptr) continue;
    const Bounded expected = evaluate(one.model, one.inputs)[0];
    const std::vector<float> images(one.inputs[0].values.begin(), one.inputs[0].values.end());
    const DeviceBuffer<float> x = on_device(images);
    for (PixelTiling tiling : all_pixel_tilings(layer_shape(one, expected.shape))) {
      if (tiling.rows == 0) tiling.rounds = 1 + number % 3;
      if (tiling.rows > 1 && number % 2 == 0) --tiling.rows;
      ++number;
      const DeviceBuffer<float> y = on_device(std::vector<float>(expected.values.size(), NAN));
      Layer(one, expected.shape, tiling).run(x.data(), y.data());
      const std::vector<float> found = download(y.data(), y.size());
      EXPECT_LE(largest_ratio(expected, found), 1)
          << one.name << ": " << tiling.filters << " filters, " << tiling.pixels << " pixels, " << tiling.warps
          << " warps, " << tiling.rows << " rows";
    }
  }
}

testing::ModelCase chain_layer() {
  testing::Rng rng(8);
  const Shape shape{1, 64, 30, 30};
  return testing::convolution_case("chain", testing::random_convolution(rng, 64, 64, testing::same_window(3, 3), 0.05),
                                   shape, testing::random_tensor(rng, shape));
}

/// A chain in two buffers: each kernel reads what the one before writes, and overwrites what that one reads.
TEST(ConvPixels, OverlappedKernelsSeeOneAnothersResults) {
  use_device({});
  const testing::ModelCase one = chain_layer();
  const std::vector<float> images(one.inputs[0].values.begin(), one.inputs[0].values.end());
  const Layer layer(one, one.inputs[0].shape, {.pixels = 1, .warps = 4});
  const auto run = [&](bool waits) {
    const DeviceBuffer<float> a = on_device(images);
    const DeviceBuffer<float> b = on_device(std::vector<float>(images.size(), NAN));
    for (int i = 0; i < 20; ++i) {
      i % 2 == 0 ? layer.run(a.data(), b.data()) : layer.run(b.data(), a.data());
      if (waits) check(cudaStreamSynchronize(cudaStreamPerThread));
    }
    return download(a.data(), a.size());
  };
  const std::vector<float> expected = run(true);
  for (int i = 0; i < 50; ++i) ASSERT_EQ(run(false), expected) << i;
}

/// Every other kernel reads the images, while the one before it reads or writes what it overwrites itself.
TEST(ConvPixels, KernelsOfOlderInputsWaitBeforeTheyStore) {
  use_device({});
  const testing::ModelCase one = chain_layer();
  const std::vector<float> images(one.inputs[0].values.begin(), one.inputs[0].values.end());
  const Layer layer(one, one.inputs[0].shape, {.pixels = 1, .warps = 4});
  const DeviceBuffer<float> x = on_device(images);
  const DeviceBuffer<float> y = on_device(std::vector<float>(images.size(), NAN));
  const DeviceBuffer<float> z = on_device(std::vector<float>(images.size(), NAN));
  layer.run(x.data(), y.data());
  const std::vector<float> once = download(y.data(), y.size());
  layer.run(y.data(), z.data());
  const std::vector<float> twice = download(z.data(), z.size());
  for (int i = 0; i < 50; ++i) {
    for (int k = 0; k < 10; ++k) {
      layer.run(y.data(), z.data());
      layer.run(x.data(), y.data(), true);
      layer.run(x.data(), z.data(), true);
      layer.run(y.data(), z.data());
    }
    ASSERT_EQ(download(y.data(), y.size()), once) << i;
    ASSERT_EQ(download(z.data(), z.size()), twice) << i;
  }
}

}  // namespace
}  // namespace spdnn::cuda
