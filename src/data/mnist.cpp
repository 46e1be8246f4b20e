// Reads MNIST's images: IDX files of 28 x 28 pixels.

#include <fmt/format.h>

#include "data/generate.hpp"
#include "io/arrays/idx.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

MnistImages read_mnist(const std::filesystem::path& idx) {
  IdxFile file(idx, IdxFile::Kind::images);
  const Index count = file.extents()[0];
  const Index rows = file.extents()[1];
  const Index cols = file.extents()[2];
  if (rows != kMnistSide || cols != kMnistSide)
    throw DataError(
        fmt::format("{}: images of {} x {}, expected {} x {}", file.name(), rows, cols, kMnistSide, kMnistSide));
  constexpr std::uint32_t kMaxImages = 1U << 20U;  // larger than any MNIST-like set; limits the allocation
  if (count == 0 || count > kMaxImages)
    throw DataError(fmt::format("{}: states {} images, expected 1..{}", file.name(), count, kMaxImages));
  return {count, file.read(), file.name()};
}

}  // namespace spdnn
