// What CUDA engines share: layers resident and streamed, images in both forms and layouts, retired rows, errors.

#include <numeric>
#include <random>

#include "engines/cuda/layers/images.hpp"
#include "engines/cuda/layers/source.hpp"
#include "engines/cuda/retire/active_rows.hpp"
#include "engines/cuda/retire/row_kernels.hpp"
#include "engines/cuda/runtime/device.hpp"
#include "gpu/on_device.hpp"
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

using LayerSourceTest = OnDevice;

TEST_F(LayerSourceTest, ResidentLayersAreThePlans) {
  const EngineOptions options;
  const Stream stream = stream_on(options);
  const Plan plan = random_plan({50, 70, 33, 1, 40, 40, 257}, 1);
  for (const bool indices16 : {false, true})
    for (const bool values : {false, true}) {
      LayerSource source(plan, {indices16, values}, options, stream);
      ASSERT_TRUE(source.resident());
      for (Index k = 0; k < plan.depth(); ++k) expect_same(source.layer(k), plan.layers[k]);
      const auto table = download(source.device_layers(), plan.depth());
      for (Index k = 0; k < plan.depth(); ++k) EXPECT_EQ(table[k].indices, source.layer(k).indices);
    }
}

TEST_F(LayerSourceTest, StreamedLayersAreThePlansInAnyOrder) {
  EngineOptions options;
  options.memory_limit = 4096;
  const Stream stream = stream_on(options);
  const Plan plan = random_plan({500, 700, 330, 10, 400, 400, 257, 500}, 2);
  LayerSource source(plan, {}, options, stream);
  ASSERT_FALSE(source.resident());
  for (int trial = 0; trial < 3; ++trial)
    for (Index k = 0; k < plan.depth(); ++k) expect_same(source.layer(k), plan.layers[k]);
  for (const Index k : {0U, 1U, 1U, 0U, 5U, 3U, 4U, 0U, 6U, 0U}) expect_same(source.layer(k), plan.layers[k]);
}

TEST_F(LayerSourceTest, OneStreamedLayerIsAskedForTwice) {
  EngineOptions options;
  options.memory_limit = 64;
  const Stream stream = stream_on(options);
  const Plan plan = random_plan({500, 700}, 3);
  LayerSource source(plan, {}, options, stream);
  ASSERT_FALSE(source.resident());
  expect_same(source.layer(0), plan.layers[0]);
  expect_same(source.layer(0), plan.layers[0]);
}

using DeviceImagesTest = OnDevice;

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

TEST_F(DeviceImagesTest, BothFormsExpandInBothLayouts) {
  const Stream stream = stream_on(EngineOptions{});
  std::mt19937 random(4);
  for (const Index neurons : {1U, 63U, 64U, 65U, 300U}) {
    CsrMatrix ones = random_matrix(37, neurons, std::min<Index>(neurons, 20), true, random);
    ones.value = 1.0F;
    expect_expanded(ImageSet{ImageSet{ones}.to_bits()}, stream);
    expect_expanded(ImageSet{random_matrix(37, neurons, 20, false, random)}, stream);
  }
}

using RowKernelsTest = OnDevice;

TEST_F(RowKernelsTest, ActivationFollowsTheRuleAndFlagsSayWhatIsThere) {
  const Stream stream = stream_on(EngineOptions{});
  // Rows: nothing, one positive, all at the cap, negative only.
  const std::vector<float> z{0, 0, 0, 0, 1, 0, 40, 50, 32.5F, -1, 0.25F, 0};
  DeviceBuffer<float> buffer(z.size(), stream);
  DeviceBuffer<std::uint32_t> flags(4, stream);
  DeviceLayer layer;
  layer.outputs = 3;
  layer.bias = -0.5F;
  check(cudaStreamSynchronize(stream));
  upload(buffer.data(), z);
  activate(Layout::by_image, buffer.data(), buffer.data(), 4, layer, {.cap = 32.0F, .everywhere = false}, 0.0F,
           flags.data(), stream);
  EXPECT_EQ(download(buffer.data(), z.size()), (std::vector<float>{0, 0, 0, 0, 0.5F, 0, 32, 32, 32, 0, 0, 0}));
  EXPECT_EQ(download(flags.data(), 4),
            (std::vector<std::uint32_t>{kMayMiss, kLives | kMayLive | kMayMiss, kLives | kMayLive, kMayMiss}));
  // With an error bound of 1, what is within 1 of a decision stays open.
  upload(buffer.data(), z);
  activate(Layout::by_image, buffer.data(), buffer.data(), 4, layer, {.cap = 32.0F, .everywhere = false}, 1.0F,
           flags.data(), stream);
  EXPECT_EQ(download(flags.data(), 4), (std::vector<std::uint32_t>{kMayLive | kMayMiss, kMayLive | kMayMiss,
                                                                   kLives | kMayLive | kMayMiss, kMayLive | kMayMiss}));
}

TEST_F(RowKernelsTest, BothLayoutsAgree) {
  const Stream stream = stream_on(EngineOptions{});
  constexpr Index kImages = 301;
  constexpr Index kNeurons = 67;
  std::mt19937 random(5);
  std::vector<float> rows(std::size_t{kImages} * kNeurons);
  for (float& value : rows) value = static_cast<float>(random() % 4) - 2.0F;
  std::vector<float> columns(rows.size());
  for (std::size_t i = 0; i < kImages; ++i)
    for (std::size_t j = 0; j < kNeurons; ++j) columns[j * kImages + i] = rows[i * kNeurons + j];
  DeviceBuffer<float> a(rows.size(), stream);
  DeviceBuffer<float> b(rows.size(), stream);
  DeviceBuffer<float> gathered(rows.size(), stream);
  DeviceBuffer<std::uint32_t> flags_a(kImages, stream);
  DeviceBuffer<std::uint32_t> flags_b(kImages, stream);
  DeviceBuffer<Index> kept(kImages, stream);
  check(cudaStreamSynchronize(stream));
  upload(a.data(), rows);
  upload(b.data(), columns);
  std::vector<Index> chosen;
  for (Index image = 0; image < kImages; image += 3) chosen.push_back(image);
  upload(kept.data(), chosen);
  DeviceLayer layer;
  layer.outputs = kNeurons;
  layer.bias = 0.25F;
  const Activation activation{.cap = 1.0F, .everywhere = true};
  activate(Layout::by_image, a.data(), a.data(), kImages, layer, activation, 0.0F, flags_a.data(), stream);
  activate(Layout::by_neuron, b.data(), b.data(), kImages, layer, activation, 0.0F, flags_b.data(), stream);
  EXPECT_EQ(download(flags_a.data(), kImages), download(flags_b.data(), kImages));
  const auto count = static_cast<Index>(chosen.size());
  gather_images(Layout::by_image, a.data(), kImages, kept.data(), count, kNeurons, gathered.data(), stream);
  const auto by_image = download(gathered.data(), std::size_t{count} * kNeurons);
  gather_images(Layout::by_neuron, b.data(), kImages, kept.data(), count, kNeurons, gathered.data(), stream);
  const auto by_neuron = download(gathered.data(), std::size_t{count} * kNeurons);
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t j = 0; j < kNeurons; ++j) {
      const float z = rows[chosen[i] * std::size_t{kNeurons} + j] + 0.25F;
      ASSERT_EQ(by_image[i * kNeurons + j], std::min(1.0F, std::max(0.0F, z)));
      ASSERT_EQ(by_image[i * kNeurons + j], by_neuron[j * count + i]);
    }
}

using ActiveRowsTest = OnDevice;

TEST_F(ActiveRowsTest, SettledRowsLeaveOnceAndAreCounted) {
  const Stream stream = stream_on(EngineOptions{});
  Plan plan = random_plan({4, 4, 4, 4}, 6);
  plan.passes.dead = plan.passes.saturated = true;
  plan.certificates.saturated_from = 2;
  ActiveRows rows(plan, false, stream);
  rows.load(6);
  for (int trial = 0; trial < 2; ++trial) {
    rows.reset();
    constexpr std::uint32_t kAlive = kLives | kMayLive | kMayMiss;
    constexpr std::uint32_t kFull = kLives | kMayLive;
    const auto set_flags = [&](const std::vector<std::uint32_t>& flags) {
      check(cudaStreamSynchronize(stream));
      upload(rows.flags(), flags);
    };
    set_flags({kAlive, kMayMiss, kAlive, kAlive, kAlive, kAlive});  // image 1 is empty
    rows.retire(0);
    EXPECT_EQ(rows.kept_rows(), 5U);
    set_flags({kAlive, kMayMiss, kMayMiss, kFull, kAlive, kAlive});  // image 2 dies; 3 is full, too early
    rows.retire(1);
    EXPECT_EQ(rows.kept_rows(), 4U);
    rows.compact(4);
    EXPECT_EQ(rows.image_of_rows(), (std::vector<Index>{0, 3, 4, 5}));
    set_flags({kAlive, kFull, kAlive, kMayMiss});  // image 3 is retired, 5 dies
    rows.retire(2);
    EXPECT_EQ(rows.kept_rows(), 2U);
    set_flags({kAlive, kFull, kMayMiss, kMayMiss});  // not compacted: rows of 3 and 5 are not counted again; 4 dies
    rows.retire(3);
    const Outcome outcome = rows.outcome();
    EXPECT_EQ(outcome.categories, (Categories{0, 3}));
    EXPECT_EQ(outcome.alive, (std::vector<std::int64_t>{4, 3, 2}));
    EXPECT_EQ(outcome.saturated, 1);
    const auto all = rows.fill_retired(2, {1, 2, 3, 4, 5, 6, 7, 8});
    EXPECT_EQ(all, (std::vector<double>{1, 2, 0, 0, 0, 0, 32, 32, 0, 0, 0, 0}));
  }
}

TEST_F(ActiveRowsTest, FlagsMoveWithTheirRows) {
  const Stream stream = stream_on(EngineOptions{});
  Plan plan = random_plan({4, 4}, 7);
  plan.passes.dead = true;
  ActiveRows rows(plan, false, stream);
  rows.load(4);
  rows.reset();
  constexpr std::uint32_t kAlive = kLives | kMayLive | kMayMiss;
  check(cudaStreamSynchronize(stream));
  upload(rows.flags(), {kMayMiss, kMayMiss, kAlive, kAlive});
  rows.retire(1);
  rows.compact(rows.kept_rows());
  EXPECT_EQ(rows.outcome().categories, (Categories{2, 3}));
}

using ErrorsTest = OnDevice;

TEST_F(ErrorsTest, OutOfMemorySaysSoAndTheDeviceStaysUsable) {
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

TEST_F(ErrorsTest, ADeviceThatIsNotThereIsNamed) {
  EngineOptions options;
  options.device = 999;
  EXPECT_THROW(use_device(options), DeviceError);
  std::string why_not;
  EXPECT_FALSE(cuda_available(&why_not, 999));
  EXPECT_NE(why_not.find("999"), std::string::npos);
}

TEST_F(ErrorsTest, TheBudgetIsNoMoreThanTheLimit) {
  EngineOptions options;
  EXPECT_GT(memory_budget(options), std::size_t{1} << 20U);
  options.memory_limit = 12345;
  EXPECT_EQ(memory_budget(options), 12345U);
}

}  // namespace
}  // namespace spdnn::cuda
