#include "io/packed/entropy_coding.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <stdexcept>

namespace spdnn::packed {

namespace {

constexpr int kRawDeflate = -15;
constexpr int kMemoryLevel = 8;
/// A code has at least one bit for each byte; streams with matches, which give more, are none of ours.
constexpr std::size_t kMostBytesPerByte = 8;
constexpr unsigned kLow7 = 0x7f;

[[noreturn]] void no_code(const char* problem) { throw std::invalid_argument(problem); }

void append_number(std::vector<std::byte>& bytes, std::uint64_t number) {
  for (; number > kLow7; number >>= 7U) bytes.push_back(static_cast<std::byte>((number & kLow7) | (kLow7 + 1)));
  bytes.push_back(static_cast<std::byte>(number));
}

/// Reads numbers of at most 32 bits.
class NumberReader {
 public:
  explicit NumberReader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::uint64_t next() {
    std::uint64_t number = 0;
    for (unsigned shift = 0; shift < 35; shift += 7) {
      if (bytes_.empty()) no_code("columns are missing");
      const auto byte = static_cast<unsigned>(bytes_.front());
      bytes_ = bytes_.subspan(1);
      number |= std::uint64_t{byte & kLow7} << shift;
      if (byte <= kLow7) return number;
    }
    no_code("a gap between columns is too large");
  }
  bool at_end() const { return bytes_.empty(); }

 private:
  std::span<const std::byte> bytes_;
};

Bytef* as_zlib(const std::byte* bytes) { return reinterpret_cast<Bytef*>(const_cast<std::byte*>(bytes)); }

/// zlib counts bytes in 32 bits: gives it as many at a time as that allows.
void give(uInt& available, std::size_t& left) {
  const std::size_t some = std::min<std::size_t>(left, std::numeric_limits<uInt>::max());
  available = static_cast<uInt>(some);
  left -= some;
}

}  // namespace

std::vector<std::byte> huffman_coded(std::span<const std::byte> bytes) {
  z_stream stream{};
  if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, kRawDeflate, kMemoryLevel, Z_HUFFMAN_ONLY) != Z_OK)
    throw std::bad_alloc();
  const std::unique_ptr<z_stream, int (*)(z_stream*)> ends(&stream, deflateEnd);
  const std::uint64_t count = bytes.size();
  std::vector<std::byte> coded(sizeof count + deflateBound(&stream, bytes.size()));
  std::memcpy(coded.data(), &count, sizeof count);
  std::size_t input = bytes.size();
  std::size_t output = coded.size() - sizeof count;
  stream.next_in = as_zlib(bytes.data());
  stream.next_out = as_zlib(coded.data() + sizeof count);
  for (int result = Z_OK; result != Z_STREAM_END;) {
    if (stream.avail_in == 0) give(stream.avail_in, input);
    if (stream.avail_out == 0) give(stream.avail_out, output);
    result = deflate(&stream, input == 0 ? Z_FINISH : Z_NO_FLUSH);
  }
  coded.resize(sizeof count + stream.total_out);
  return coded;
}

std::vector<std::byte> huffman_decoded(std::span<const std::byte> coded) {
  std::uint64_t count = 0;
  if (coded.size() < sizeof count) no_code("a Huffman code is cut short");
  std::memcpy(&count, coded.data(), sizeof count);
  std::size_t input = coded.size() - sizeof count;
  if (count / kMostBytesPerByte > input) no_code("a Huffman code is too short for its number of bytes");
  z_stream stream{};
  if (inflateInit2(&stream, kRawDeflate) != Z_OK) throw std::bad_alloc();
  const std::unique_ptr<z_stream, int (*)(z_stream*)> ends(&stream, inflateEnd);
  std::vector<std::byte> bytes(count + 1);  // one more, to notice a code that goes on
  std::size_t output = bytes.size();
  stream.next_in = as_zlib(coded.data() + sizeof count);
  stream.next_out = as_zlib(bytes.data());
  int result = Z_OK;
  while (result == Z_OK) {
    if (stream.avail_in == 0) give(stream.avail_in, input);
    if (stream.avail_out == 0) give(stream.avail_out, output);
    result = inflate(&stream, Z_NO_FLUSH);
  }
  if (result == Z_MEM_ERROR) throw std::bad_alloc();
  if (result != Z_STREAM_END || stream.total_out != count || stream.avail_in != 0 || input != 0)
    no_code("a Huffman code is damaged");
  bytes.resize(count);
  return bytes;
}

std::vector<std::byte> one_byte_each(std::span<const std::byte> codes, std::size_t count, int bits) {
  const auto width = static_cast<std::size_t>(bits);
  std::vector<std::byte> bytes(count);
  for (std::size_t k = 0; k < count; ++k)
    bytes[k] = codes[k * width / 8] >> static_cast<int>(k * width % 8) & std::byte((1U << width) - 1);
  return bytes;
}

std::vector<std::byte> without_gaps(std::span<const std::byte> bytes, int bits) {
  const auto width = static_cast<std::size_t>(bits);
  std::vector<std::byte> codes((bytes.size() * width + 7) / 8);
  for (std::size_t k = 0; k < bytes.size(); ++k) {
    if (static_cast<unsigned>(bytes[k]) >> width != 0) no_code("a code has more bits than the others");
    codes[k * width / 8] |= bytes[k] << static_cast<int>(k * width % 8);
  }
  return codes;
}

std::vector<std::byte> place_bytes(const EntryPlaces& places) {
  std::vector<std::byte> bytes;
  for (std::size_t row = 0; row + 1 < places.offsets.size(); ++row) {
    append_number(bytes, places.offsets[row + 1] - places.offsets[row]);
    std::uint64_t next = 0;
    for (Offset k = places.offsets[row]; k < places.offsets[row + 1]; ++k) {
      append_number(bytes, places.indices[k] - next);
      next = std::uint64_t{places.indices[k]} + 1;
    }
  }
  return bytes;
}

EntryPlaces places_of(std::span<const std::byte> bytes, Index rows, Index cols) {
  NumberReader numbers(bytes);
  if (rows > bytes.size()) no_code("columns are missing");
  std::vector<Offset> offsets{0};
  std::vector<Index> indices;
  offsets.reserve(std::size_t{rows} + 1);
  for (Index row = 0; row < rows; ++row) {
    std::uint64_t next = 0;
    for (std::uint64_t left = numbers.next(); left > 0; --left) {
      const std::uint64_t column = next + numbers.next();
      if (column >= cols) throw std::invalid_argument(fmt::format("row {}: a column beyond {}", row + 1, cols));
      indices.push_back(static_cast<Index>(column));
      next = column + 1;
    }
    offsets.push_back(indices.size());
  }
  if (!numbers.at_end()) no_code("more columns than rows");
  return {std::move(offsets), std::move(indices)};
}

}  // namespace spdnn::packed
