// Data copied to the device through the shared page-locked buffers arrive unchanged: sizes around a buffer's, several
// users at once, layers of one and of several threads' shares and larger than a buffer. A device that was started on
// another thread is ready for this one.

#include "engines/cuda/runtime/staging.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/threads/background.hpp"
#include "engines/cuda/layers/source.hpp"
#include "engines/cuda/runtime/device.hpp"
#include "engines/devices.hpp"
#include "support/matrix_builder.hpp"

namespace spdnn::cuda {
namespace {

std::vector<std::byte> pattern(std::size_t size, unsigned seed) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>((i * 2654435761U + seed) >> 13U);
  return bytes;
}

template <class T>
std::vector<T> back(const T* device, std::size_t size, cudaStream_t stream) {
  std::vector<T> host(size);
  if (size > 0) check(cudaMemcpyAsync(host.data(), device, size * sizeof(T), cudaMemcpyDeviceToHost, stream));
  check(cudaStreamSynchronize(stream));
  return host;
}

TEST(StagingTest, EverySizeArrives) {
  const Stream stream = stream_on({});
  constexpr std::size_t kPiece = Staging::kPieceBytes;
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, kPiece - 1, kPiece, kPiece + 1, 5 * kPiece + 77}) {
    const std::vector<std::byte> sent = pattern(size, 1);
    const DeviceBuffer<std::byte> copied(size, stream);
    const DeviceBuffer<std::byte> put(std::min(size, kPiece), stream);
    const std::vector<std::byte> piece(sent.begin(), sent.begin() + static_cast<std::ptrdiff_t>(put.size()));
    Staging staging;
    staging.copy(copied.data(), sent.data(), size, stream);
    staging.put(
        put.data(), put.size(), [&](std::byte* to) { std::copy(piece.begin(), piece.end(), to); }, stream);
    EXPECT_TRUE(back(copied.data(), size, stream) == sent) << size;
    std::vector<std::byte> fetched(size);
    staging.fetch(fetched.data(), copied.data(), size, stream);
    EXPECT_TRUE(fetched == sent) << size;
    EXPECT_TRUE(back(put.data(), put.size(), stream) == piece) << size;
  }
}

/// The second user has buffers of its own; the third gets those that the first gave back, its copies being done.
TEST(StagingTest, UsersDoNotDisturbEachOther) {
  const Stream stream = stream_on({});
  constexpr std::size_t kSize = Staging::kPieceBytes / 2;
  std::vector<std::vector<std::byte>> sent;
  std::vector<DeviceBuffer<std::byte>> received;
  for (unsigned i = 0; i < 3; ++i) {
    sent.push_back(pattern(kSize, 100 * i));
    received.emplace_back(kSize, stream);
  }
  const auto send = [&](Staging& by, std::size_t i) { by.copy(received[i].data(), sent[i].data(), kSize, stream); };
  {
    Staging first;
    Staging second;
    send(first, 0);
    send(second, 1);
  }
  Staging third;
  send(third, 2);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(back(received[i].data(), kSize, stream) == sent[i]) << i;
}

Layer wide_layer(Index inputs, Index outputs, Index degree) {
  MatrixBuilder builder(inputs);
  std::vector<double> biases;
  for (Index row = 0; row < outputs; ++row) {
    for (Index k = 0; k < degree; ++k)
      builder.add((row * 7 + k * 13) % inputs, static_cast<float>((row + 3 * k) % 101) / 8.0F);
    builder.end_row();
    biases.push_back(-static_cast<double>(row % 9));
  }
  return {builder.valued(), Bias{0.0, Array<double>(std::move(biases))}};
}

void expect_same(const Layer& sent, const DeviceLayer& got, cudaStream_t stream) {
  const CsrMatrix& weights = sent.weights;
  ASSERT_NE(got.offsets, nullptr);
  ASSERT_NE(got.indices16, nullptr);
  const auto offsets = back(got.offsets, weights.offsets.size(), stream);
  const auto indices = back(got.indices16, weights.entries(), stream);
  const auto values = back(got.values, weights.entries(), stream);
  const auto biases = back(got.biases, sent.bias.values.size(), stream);
  EXPECT_TRUE(std::equal(offsets.begin(), offsets.end(), weights.offsets.begin()));
  EXPECT_TRUE(std::equal(indices.begin(), indices.end(), weights.indices.begin()));
  EXPECT_TRUE(std::equal(values.begin(), values.end(), weights.values.begin()));
  EXPECT_TRUE(std::equal(biases.begin(), biases.end(), sent.bias.values.begin()));
}

/// Of 2 KB, 4 MB and 15 MB, and small ones that share a buffer.
TEST(StagingTest, LayersOfAllSizesArrive) {
  Plan plan;
  plan.layers = {wide_layer(64, 64, 4), wide_layer(64, 2000, 330), wide_layer(2000, 4099, 600), wide_layer(4099, 64, 4),
                 wide_layer(64, 31, 5)};
  const Stream stream = stream_on({});
  LayerSource source(plan, {.indices16 = true, .values = true}, {}, stream);
  ASSERT_TRUE(source.resident());
  for (Index k = 0; k < plan.depth(); ++k) {
    SCOPED_TRACE(k);
    expect_same(plan.layers[k], source.layer(k), stream);
  }
}

TEST(StagingTest, ADeviceStartedUpElsewhereIsReadyHere) {
  Background<double> start([](const std::stop_token& /*stop*/) { return spdnn::start_up(Device::cuda); });
  EXPECT_GT(start.get(), 0.0);
  const Stream stream = stream_on({});
  const std::vector<std::byte> sent = pattern(1000, 5);
  const DeviceBuffer<std::byte> received(sent.size(), stream);
  Staging().copy(received.data(), sent.data(), sent.size(), stream);
  EXPECT_TRUE(back(received.data(), sent.size(), stream) == sent);
}

}  // namespace
}  // namespace spdnn::cuda
