// The kernel of conv_2to4 that unfolds the input, alone: cuSPARSELt, which multiplies what it makes, does not run under
// the tools of compute-sanitizer.

#include <gtest/gtest.h>

#include <algorithm>

#include "engines/cuda/runtime/buffer.hpp"
#include "engines/cuda/runtime/device.hpp"
#include "gpu/transfers.hpp"
#include "support/grouped_product.hpp"

namespace spdnn::cuda {
namespace {

template <class T>
DeviceBuffer<T> on_device(const std::vector<T>& from) {
  DeviceBuffer<T> buffer(from.size(), cudaStreamPerThread);
  check(cudaStreamSynchronize(cudaStreamPerThread));
  upload(buffer.data(), from);
  return buffer;
}

void unfold_there(const UnfoldedPiece& piece, const std::vector<ColumnSource>& sources,
                  const std::vector<std::uint16_t>& x, std::uint16_t* rows) {
  const DeviceBuffer<ColumnSource> from = on_device(sources);
  const DeviceBuffer<std::uint16_t> images = on_device(x);
  const DeviceBuffer<std::uint16_t> matrix(std::size_t{piece.pixels} * piece.columns, cudaStreamPerThread);
  unfold_columns(piece, from.data(), images.data(), matrix.data(), cudaStreamPerThread);
  std::ranges::copy(download(matrix.data(), matrix.size()), rows);
}

TEST(UnfoldColumns, TheProductIsTheConvolution) {
  use_device({});
  EXPECT_LE(largest_ratio_of_grouped_products({480, unfold_there}), 1);
}

}  // namespace
}  // namespace spdnn::cuda
