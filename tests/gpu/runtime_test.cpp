// Common parts of CUDA engines: resident and streamed layers, images in both forms and layouts, errors.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "engines/cuda/conv_direct/functions.hpp"
#include "engines/cuda/layers/images.hpp"
#include "engines/cuda/layers/source.hpp"
#include "engines/cuda/runtime/device.hpp"
#include "engines/cuda/runtime/memory.hpp"
#include "gpu/transfers.hpp"
#include "spdnn/error.hpp"
#include "support/matrix_builder.hpp"

namespace spdnn::cuda {
namespace {

CsrMatrix random_matrix(Index rows, Index cols, Index most, bool uniform, std::mt19937& random) {
  MatrixBuilder builder(cols);
  for (Index row = 0; row < rows; ++row) {
    const Index degree = static_cast<Index>(random() % (most + 1));
    for (Index k = 0; k < degree; ++k) {
      const auto column = static_cast<Index>(random() % cols);
      builder.add(column, static_cast<float>(random() % 1000) / 1000.0F - 0.25F);
    }
    builder.end_row();
  }
  return uniform ? builder.uniform(0.0625F) : builder.valued();
}

Plan random_plan(const std::vector<Index>& widths, std::uint32_t seed) {
  std::mt19937 random(seed);
  Plan plan;
  for (std::size_t k = 0; k + 1 < widths.size(); ++k) {
    Layer layer;
    layer.weights = random_matrix(widths[k + 1], widths[k], 7, k % 2 == 0, random);
    layer.bias.uniform = -0.25 * static_cast<double>(k);
    if (k % 3 == 1) layer.bias.values = Array<double>(std::vector<double>(widths[k + 1], -0.5));
    plan.layers.push_back(layer);
  }
  plan.cap = 32.0;
  return plan;
}

void expect_same(const DeviceLayer& device, const Layer& layer) {
  const CsrMatrix& weights = layer.weights;
  ASSERT_EQ(device.inputs, layer.inputs());
  ASSERT_EQ(device.outputs, layer.outputs());
  ASSERT_EQ(device.edges, weights.entries());
  const auto offsets = download(device.offsets, std::size_t{weights.rows} + 1);
  EXPECT_TRUE(std::equal(offsets.begin(), offsets.end(), weights.offsets.begin()));
  if (device.indices16 != nullptr) {
    const auto indices = download(device.indices16, weights.entries());
    EXPECT_TRUE(std::equal(indices.begin(), indices.end(), weights.indices.begin()));
  } else {
    const auto indices = download(device.indices, weights.entries());
    EXPECT_TRUE(std::equal(indices.begin(), indices.end(), weights.indices.begin()));
  }
  if (device.values != nullptr) {
    const auto values = download(device.values, weights.entries());
    for (std::size_t k = 0; k < values.size(); ++k) ASSERT_EQ(values[k], weights.entry_value(k));
  } else {
    EXPECT_TRUE(weights.uniform());
    EXPECT_EQ(device.value, weights.value);
  }
  if (device.biases != nullptr) {
    const auto biases = download(device.biases, layer.outputs());
    for (std::size_t j = 0; j < biases.size(); ++j)
      ASSERT_EQ(biases[j], static_cast<float>(layer.bias[static_cast<Index>(j)]));
  } else {
    EXPECT_EQ(device.bias, static_cast<float>(layer.bias.uniform));
  }
}

TEST(LayerSourceTest, ResidentLayersAreThePlans) {
  const EngineOptions options;
  const Stream stream = stream_on(options);
  const Plan plan = random_plan({50, 70, 33, 1, 40, 40, 257}, 1);
  for (const bool indices16 : {false, true})
    for (const bool values : {false, true}) {
      LayerSource source(plan, {indices16, values}, options, stream);
      ASSERT_TRUE(source.resident());
      for (Index k = 0; k < plan.depth(); ++k) expect_same(source.layer(k), plan.layers[k]);
    }
}

TEST(LayerSourceTest, StreamedLayersAreThePlansInAnyOrder) {
  EngineOptions options;
  options.device_memory = 4096;
  const Stream stream = stream_on(options);
  const Plan plan = random_plan({500, 700, 330, 10, 400, 400, 257, 500}, 2);
  LayerSource source(plan, {}, options, stream);
  ASSERT_FALSE(source.resident());
  for (int trial = 0; trial < 3; ++trial)
    for (Index k = 0; k < plan.depth(); ++k) expect_same(source.layer(k), plan.layers[k]);
  for (const Index k : {0U, 1U, 1U, 0U, 5U, 3U, 4U, 0U, 6U, 0U}) expect_same(source.layer(k), plan.layers[k]);
}

TEST(LayerSourceTest, OneStreamedLayerIsAskedForTwice) {
  EngineOptions options;
  options.device_memory = 64;
  const Stream stream = stream_on(options);
  const Plan plan = random_plan({500, 700}, 3);
  LayerSource source(plan, {}, options, stream);
  ASSERT_FALSE(source.resident());
  expect_same(source.layer(0), plan.layers[0]);
  expect_same(source.layer(0), plan.layers[0]);
}

void expect_expanded(const ImageSet& images, const Stream& stream) {
  const CsrMatrix sparse = images.to_csr();
  std::vector<float> dense(std::size_t{sparse.rows} * sparse.cols, 0.0F);
  for (Index image = 0; image < sparse.rows; ++image)
    for (Offset k = sparse.offsets[image]; k < sparse.offsets[image + 1]; ++k)
      dense[std::size_t{image} * sparse.cols + sparse.indices[k]] += sparse.entry_value(k);
  DeviceImages device;
  device.load(images, stream);
  const Index first = sparse.rows / 3;
  const Index count = sparse.rows - first;
  DeviceBuffer<float> buffer(std::size_t{count} * sparse.cols, stream);
  for (const Layout layout : {Layout::by_image, Layout::by_neuron}) {
    device.expand(layout, first, count, buffer.data(), stream);
    const auto found = download(buffer.data(), buffer.size());
    for (std::size_t image = 0; image < count; ++image)
      for (std::size_t neuron = 0; neuron < sparse.cols; ++neuron) {
        const std::size_t at = layout == Layout::by_image ? image * sparse.cols + neuron : neuron * count + image;
        ASSERT_NEAR(found[at], dense[(first + image) * sparse.cols + neuron], 1e-6F) << image << ' ' << neuron;
      }
  }
}

TEST(DeviceImagesTest, BothFormsExpandInBothLayouts) {
  const Stream stream = stream_on(EngineOptions{});
  std::mt19937 random(4);
  for (const Index neurons : {1U, 63U, 64U, 65U, 300U}) {
    CsrMatrix ones = random_matrix(37, neurons, std::min<Index>(neurons, 20), true, random);
    ones.value = 1.0F;
    expect_expanded(ImageSet{ImageSet{ones}.to_bits()}, stream);
    expect_expanded(ImageSet{random_matrix(37, neurons, 20, false, random)}, stream);
  }
}

TEST(MemoryTest, BuffersLeaveTheDefaultPoolToOthers) {
  const Stream stream = stream_on(EngineOptions{});
  cudaMemPool_t others = nullptr;
  check(cudaDeviceGetDefaultMemPool(&others, 0));
  const auto value_of = [&](cudaMemPoolAttr attribute) {
    std::uint64_t value = 0;
    check(cudaMemPoolGetAttribute(others, attribute, &value));
    return value;
  };
  const std::uint64_t used = pool_use().used;
  const std::uint64_t used_by_others = value_of(cudaMemPoolAttrUsedMemCurrent);
  const DeviceBuffer<std::byte> buffer(std::size_t{1} << 20U, stream);
  EXPECT_EQ(pool_use().used - used, buffer.bytes());
  EXPECT_EQ(value_of(cudaMemPoolAttrUsedMemCurrent), used_by_others);
  EXPECT_EQ(value_of(cudaMemPoolAttrReleaseThreshold), 0U);
}

TEST(MemoryTest, ThePeakOutlivesTheBuffer) {
  const Stream stream = stream_on(EngineOptions{});
  reset_peak();
  const PoolUse before = pool_use();
  { const DeviceBuffer<std::byte> buffer(std::size_t{1} << 20U, stream); }
  check(cudaStreamSynchronize(stream));
  EXPECT_EQ(pool_use().used, before.used);
  EXPECT_EQ(pool_use().peak, before.used + (std::size_t{1} << 20U));
}

TEST(ErrorsTest, OutOfMemorySaysSoAndTheDeviceStaysUsable) {
  const Stream stream = stream_on(EngineOptions{});
  try {
    const DeviceBuffer<std::byte> buffer(std::size_t{1} << 50U, stream);
    FAIL() << "a pebibyte was allocated";
  } catch (const DeviceError& error) {
    EXPECT_NE(std::string(error.what()).find("out of device memory"), std::string::npos) << error.what();
  }
  const DeviceBuffer<std::byte> small(1, stream);
  EXPECT_NE(small.data(), nullptr);
}

TEST(ErrorsTest, ADeviceThatIsNotThereIsNamed) {
  EngineOptions options;
  options.device = 999;
  EXPECT_THROW(use_device(options), DeviceError);
  std::string why_not;
  EXPECT_FALSE(cuda_available(&why_not, 999));
  EXPECT_NE(why_not.find("999"), std::string::npos);
}

/// Ends the process after a kernel that reads where no memory is.
void report_failed_device() {
  use_device({});
  apply_functions(nullptr, 1, {}, nullptr, nullptr);
  cudaDeviceSynchronize();
  std::string why_not;
  cuda_available(&why_not);
  std::fputs(why_not.c_str(), stderr);
  std::_Exit(1);
}

TEST(ErrorsDeathTest, AnErrorOfTheDeviceIsNoLackOfCode) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a process of its own: the device is lost to the one that failed
  EXPECT_EXIT(report_failed_device(), ::testing::ExitedWithCode(1), "CUDA: an illegal memory access");
}

TEST(ErrorsTest, TheBudgetIsNoMoreThanTheLimit) {
  EngineOptions options;
  EXPECT_GT(memory_budget(options), std::size_t{1} << 20U);
  options.device_memory = 12345;
  EXPECT_EQ(memory_budget(options), 12345U);
}

}  // namespace
}  // namespace spdnn::cuda
