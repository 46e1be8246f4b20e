// MNIST's IDX format (LeCun, Cortes, Burges): big-endian words 0x00000803, images, rows, columns, then a byte a pixel.

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <memory>

#include "data/generate.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

namespace {

struct CloseGz {
  void operator()(gzFile file) const { gzclose_r(file); }
};
using GzFile = std::unique_ptr<gzFile_s, CloseGz>;

/// Reads exactly `size` bytes, or fewer at the end of the file. DataError where the file or its gzip stream is broken.
std::size_t read_bytes(gzFile file, const std::string& name, std::uint8_t* out, std::size_t size) {
  constexpr std::size_t kPiece = std::size_t{1} << 24U;  // gzread counts in int
  std::size_t done = 0;
  while (done < size) {
    const int got = gzread(file, out + done, static_cast<unsigned>(std::min(kPiece, size - done)));
    int code = Z_OK;
    const char* const what = gzerror(file, &code);
    if (got < 0 || (code != Z_OK && code != Z_STREAM_END))
      throw DataError(fmt::format("{}: {}", name, code == Z_BUF_ERROR ? "the gzip stream is cut off" : what));
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

std::uint32_t big_endian(const std::uint8_t* bytes) {
  return std::uint32_t{bytes[0]} << 24U | std::uint32_t{bytes[1]} << 16U | std::uint32_t{bytes[2]} << 8U | bytes[3];
}

}  // namespace

MnistImages read_mnist(const std::filesystem::path& idx) {
  const std::string name = idx.string();
  std::error_code error;
  if (!std::filesystem::is_regular_file(idx, error))
    throw DataError(fmt::format("{}: no such file; expected MNIST training images (IDX, plain or .gz)", name));
  const GzFile file(gzopen(idx.c_str(), "rb"));  // reads plain files as they are
  if (!file) throw DataError(fmt::format("{}: cannot be opened", name));

  std::array<std::uint8_t, 16> header{};
  if (read_bytes(file.get(), name, header.data(), header.size()) != header.size())
    throw DataError(fmt::format("{}: ends within the IDX header of {} bytes", name, header.size()));
  constexpr std::uint32_t kMagic = 0x00000803;  // unsigned bytes, three dimensions
  const std::uint32_t magic = big_endian(header.data());
  if (magic != kMagic)
    throw DataError(fmt::format("{}: begins with 0x{:08x}, expected 0x{:08x} (IDX images)", name, magic, kMagic));
  const std::uint32_t count = big_endian(header.data() + 4);
  const std::uint32_t rows = big_endian(header.data() + 8);
  const std::uint32_t cols = big_endian(header.data() + 12);
  if (rows != kMnistSide || cols != kMnistSide)
    throw DataError(fmt::format("{}: images of {} x {}, expected {} x {}", name, rows, cols, kMnistSide, kMnistSide));
  constexpr std::uint32_t kMaxImages = 1U << 20U;  // beyond any MNIST-like set; guards the allocation
  if (count == 0 || count > kMaxImages)
    throw DataError(fmt::format("{}: says it holds {} images, expected 1..{}", name, count, kMaxImages));

  const std::size_t size = std::size_t{count} * kMnistSide * kMnistSide;
  const auto pixels = allocate<std::uint8_t>(size);
  const std::size_t got = read_bytes(file.get(), name, pixels.get(), size);
  if (got != size)
    throw DataError(fmt::format("{}: holds {} bytes of pixels, expected {} for {} images", name, got, size, count));
  std::uint8_t beyond = 0;
  if (read_bytes(file.get(), name, &beyond, 1) != 0)
    throw DataError(fmt::format("{}: has bytes behind its {} images", name, count));
  return {count, Array<std::uint8_t>(pixels, size), name};
}

}  // namespace spdnn
