#include "io/networks/text/gz.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <new>
#include <stdexcept>

namespace spdnn {

namespace {

constexpr int kGzipWindow = 15 + 16;                         // for zlib: the largest window, with a gzip header
constexpr std::size_t kPieceBytes = std::size_t{128} << 10;  // bytes per read
constexpr std::size_t kMost = std::numeric_limits<uInt>::max();

}  // namespace

GzReader::GzReader(const InputFile& file)
    : file_(file), piece_(std::make_unique_for_overwrite<std::byte[]>(kPieceBytes)) {
  if (inflateInit2(&stream_, kGzipWindow) != Z_OK) throw std::bad_alloc();
}

GzReader::~GzReader() { inflateEnd(&stream_); }

void GzReader::feed() {
  if (stream_.avail_in > 0) return;
  const std::size_t size = std::min(file_.size() - position_, kPieceBytes);
  file_.read(position_, {piece_.get(), size});
  position_ += size;
  stream_.next_in = reinterpret_cast<Bytef*>(piece_.get());
  stream_.avail_in = static_cast<uInt>(size);
}

bool GzReader::start_member() {
  const bool first = stream_.total_in == 0;
  for (feed(); !first && stream_.avail_in > 0 && *stream_.next_in == 0; feed()) {
    ++stream_.next_in;
    --stream_.avail_in;
  }
  if (stream_.avail_in == 0 && first) throw GzProblem{"the file is empty, expected gzip data", 0};
  if (stream_.avail_in == 0) return false;
  if (!first && inflateReset(&stream_) != Z_OK) throw std::logic_error("zlib: inflateReset failed");
  return inside_ = true;
}

std::size_t GzReader::read(std::span<char> out) {
  std::size_t done = 0;
  while (done < out.size() && (inside_ || start_member())) {
    feed();
    stream_.next_out = reinterpret_cast<Bytef*>(out.data() + done);
    stream_.avail_out = static_cast<uInt>(std::min(out.size() - done, kMost));
    const std::size_t asked = stream_.avail_out;
    const int status = inflate(&stream_, Z_NO_FLUSH);
    done += asked - stream_.avail_out;
    if (status == Z_MEM_ERROR) throw std::bad_alloc();
    if (status == Z_STREAM_END) {
      inside_ = false;
    } else if (status != Z_OK && status != Z_BUF_ERROR && done < out.size()) {
      const char* const what = stream_.msg != nullptr ? stream_.msg : "error";
      throw GzProblem{fmt::format("damaged or no gzip data (zlib: {})", what), done};
    } else if (stream_.avail_out > 0 && stream_.avail_in == 0 && position_ == file_.size()) {
      throw GzProblem{"the gzip data is cut off, expected its end", done};
    }
  }
  return done;
}

std::string gzip(std::string_view text) {
  if (text.size() > kMost / 2) throw std::length_error("a gzip member of more than 2 GB");
  z_stream stream{};
  // Level 6 is gzip's default; 8 is zlib's default memory level.
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzipWindow, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();
  std::string out(deflateBound(&stream, static_cast<uLong>(text.size())), '\0');
  stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(text.data()));  // zlib only reads it
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int status = deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  if (status != Z_STREAM_END) throw std::logic_error("zlib: deflate did not finish");
  return out;
}

}  // namespace spdnn
