#include "io/arrays/idx.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "io/files/input_file.hpp"
#include "io/networks/text/gz.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

namespace {

std::uint32_t big_endian(const std::uint8_t* bytes) {
  return std::uint32_t{bytes[0]} << 24U | std::uint32_t{bytes[1]} << 16U | std::uint32_t{bytes[2]} << 8U | bytes[3];
}

constexpr std::size_t kPiece = std::size_t{1} << 16;  ///< bytes skipped at a time

}  // namespace

/// The bytes of an IDX file, decompressed if they are gzip data, whatever the file's name.
class IdxFile::Bytes {
 public:
  explicit Bytes(const std::filesystem::path& path) : file_(path) {
    constexpr std::array<std::uint8_t, 2> kGzip{0x1f, 0x8b};
    std::array<std::uint8_t, 2> start{};
    if (file_.size() >= start.size()) file_.read(0, std::as_writable_bytes(std::span(start)));
    if (start == kGzip) gz_.emplace(file_);
  }

  /// Reads `to.size()` bytes, or fewer at the end of the file. DataError if the gzip stream is damaged.
  std::size_t read(std::span<std::uint8_t> to) {
    if (gz_) return read_gz(to);
    to = to.first(std::min(to.size(), file_.size() - position_));
    file_.read(position_, std::as_writable_bytes(to));
    position_ += to.size();
    return to.size();
  }
  /// Skips bytes in the same way.
  std::size_t skip(std::size_t bytes) {
    if (!gz_) {
      bytes = std::min(bytes, file_.size() - position_);
      position_ += bytes;
      return bytes;
    }
    std::vector<std::uint8_t> piece(std::min(bytes, kPiece));
    std::size_t done = 0;
    for (std::size_t got = piece.size(); done < bytes && got == piece.size(); done += got) {
      piece.resize(std::min(bytes - done, kPiece));
      got = read_gz(piece);
    }
    return done;
  }
  /// An upper bound of the decompressed size: deflate codes at most 258 bytes in two bits.
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

IdxFile::IdxFile(const std::filesystem::path& path, Kind kind)
    : name_(path.string()), kind_(kind), bytes_(std::make_unique<Bytes>(path)) {
  const bool images = kind == Kind::images;
  const std::size_t axes = images ? 3 : 1;
  std::vector<std::uint8_t> header(4 * (1 + axes));
  if (bytes_->read(header) != header.size())
    throw DataError(fmt::format("{}: ends within the IDX header of {} bytes", name_, header.size()));
  const std::uint32_t expected = images ? 0x00000803 : 0x00000801;  // type unsigned byte, then the number of axes
  const std::uint32_t magic = big_endian(header.data());
  if (magic != expected)
    throw DataError(fmt::format("{}: begins with 0x{:08x}, expected 0x{:08x} (IDX {})", name_, magic, expected,
                                images ? "images" : "labels"));
  for (std::size_t axis = 0; axis < axes; ++axis) extents_.push_back(big_endian(header.data() + 4 * (1 + axis)));
}

IdxFile::~IdxFile() = default;

Array<std::uint8_t> IdxFile::read(Index most) {
  const char* const what = kind_ == Kind::images ? "pixels" : "labels";
  const char* const each = kind_ == Kind::images ? "images" : "labels";
  std::size_t size = 1;
  for (const Index extent : extents_)
    if (__builtin_mul_overflow(size, std::size_t{extent}, &size))
      throw DataError(fmt::format("{}: the header states {} images of {} x {}, which exceeds the address space", name_,
                                  extents_[0], extents_[1], extents_[2]));
  const std::size_t wanted = most < extents_[0] ? size / extents_[0] * most : size;
  const std::size_t room = std::min(wanted, bytes_->most());
  const auto values = allocate<std::uint8_t>(room);
  std::size_t got = bytes_->read({values.get(), room});
  if (got == wanted) got += bytes_->skip(size - wanted);
  if (got != size)
    throw DataError(
        fmt::format("{}: holds {} bytes of {}, expected {} for {} {}", name_, got, what, size, extents_[0], each));
  // Reading on reaches the end of the file, so that the gzip stream is checked to its end.
  std::array<std::uint8_t, 1> beyond{};
  if (bytes_->read(beyond) != 0)
    throw DataError(fmt::format("{}: has bytes after its {} {}", name_, extents_[0], each));
  bytes_->check_unchanged();
  return Array<std::uint8_t>(values, wanted);
}

}  // namespace spdnn
