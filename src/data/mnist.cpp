// MNIST's IDX format (LeCun, Cortes, Burges): the big-endian words 0x00000803, images, rows and columns, followed by
// one byte per pixel.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "data/generate.hpp"
#include "io/input_file.hpp"
#include "io/text/gz.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

namespace {

/// The bytes of an IDX file, decompressed if they are gzip's, whatever the file's name.
class Bytes {
 public:
  explicit Bytes(const std::filesystem::path& path) : file_(path) {
    constexpr std::array<std::uint8_t, 2> kGzip{0x1f, 0x8b};
    std::array<std::uint8_t, 2> start{};
    if (file_.size() >= start.size()) file_.read(0, std::as_writable_bytes(std::span(start)));
    if (start == kGzip) gz_.emplace(file_);
  }

  /// Reads that many bytes, or fewer at the end of the file. DataError where the gzip stream is broken.
  std::size_t read(std::span<std::uint8_t> to) {
    if (gz_) return read_gz(to);
    to = to.first(std::min(to.size(), file_.size() - position_));
    file_.read(position_, std::as_writable_bytes(to));
    position_ += to.size();
    return to.size();
  }
  /// The most bytes that a file of this size can hold: deflate codes at most 258 bytes in two bits.
  std::size_t most() const { return gz_ ? file_.size() * 4 * 258 : file_.size(); }
  void check_unchanged() const { file_.check_unchanged(); }

 private:
  std::size_t read_gz(std::span<std::uint8_t> to) {
    try {
      return gz_->read({reinterpret_cast<char*>(to.data()), to.size()});
    } catch (const GzProblem& problem) {
      file_.check_unchanged();
      throw DataError(fmt::format("{}: {}", file_.name(), problem.message));
    }
  }

  InputFile file_;
  std::optional<GzReader> gz_;
  std::size_t position_ = 0;  ///< in a plain file
};

std::uint32_t big_endian(const std::uint8_t* bytes) {
  return std::uint32_t{bytes[0]} << 24U | std::uint32_t{bytes[1]} << 16U | std::uint32_t{bytes[2]} << 8U | bytes[3];
}

}  // namespace

MnistImages read_mnist(const std::filesystem::path& idx) {
  const std::string name = idx.string();
  Bytes file(idx);
  std::array<std::uint8_t, 16> header{};
  if (file.read(header) != header.size())
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
  const std::size_t room = std::min(size, file.most());
  const auto pixels = allocate<std::uint8_t>(room);
  const std::size_t got = file.read({pixels.get(), room});
  if (got != size)
    throw DataError(fmt::format("{}: holds {} bytes of pixels, expected {} for {} images", name, got, size, count));
  // Reading on finds the end of the file, and so the gzip stream has been checked to its end.
  std::array<std::uint8_t, 1> beyond{};
  if (file.read(beyond) != 0) throw DataError(fmt::format("{}: has bytes after its {} images", name, count));
  file.check_unchanged();
  return {count, Array<std::uint8_t>(pixels, size), name};
}

}  // namespace spdnn
