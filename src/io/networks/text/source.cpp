#include "io/networks/text/source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>
#include <utility>

#include "core/threads/parallel.hpp"
#include "io/networks/text/tsv_line.hpp"
#include "spdnn/array.hpp"

namespace spdnn {

namespace {

/// Buffers of earlier sources, kept for reuse. New memory costs a page fault per 4 KiB, a twentieth of the time for
/// reading an official layer of 1024 neurons. (They are not thread-local, because glibc terminates the program if it
/// has no memory for a thread's destructors.)
constexpr std::size_t kSpareBytes = std::size_t{512} << 10;

class SpareBuffers {
 public:
  std::shared_ptr<char[]> take() {
    const std::lock_guard lock(mutex_);
    return count_ == 0 ? nullptr : std::move(buffers_[--count_]);
  }
  void give(std::shared_ptr<char[]> buffer) {
    const std::lock_guard lock(mutex_);
    if (count_ < buffers_.size()) buffers_[count_++] = std::move(buffer);
  }

 private:
  std::mutex mutex_;
  std::array<std::shared_ptr<char[]>, 64> buffers_;
  std::size_t count_ = 0;
};

SpareBuffers spare_buffers;

}  // namespace

TextSource::TextSource(const std::filesystem::path& path) : TextSource(path, Part{}) {}

TextSource::TextSource(const std::filesystem::path& path, Part part) : file_(path) {
  const auto bound = [&](std::size_t number) { return line_from(file_.size() / part.of * number); };
  if (part.number > 0) begin_ = bound(part.number);
  end_ = part.number + 1 == part.of ? file_.size() : bound(part.number + 1);
  file_.will_need(begin_, end_ - begin_);
  rewind();
}

TextSource::TextSource(std::string name, std::string_view text, std::size_t piece_bytes)
    : file_(std::move(name), std::as_bytes(std::span(text))), piece_bytes_(piece_bytes), end_(file_.size()) {
  rewind();
}

TextSource::~TextSource() {
  if (capacity_ == kSpareBytes) spare_buffers.give(std::move(buffer_));
}

void TextSource::rewind() {
  position_ = begin_;
  used_ = given_ = offset_ = 0;
  ends_within_line_ = false;
  if (name().ends_with(".gz")) gz_ = std::make_unique<GzReader>(file_);
}

std::size_t TextSource::expected_bytes() const { return gz_ ? file_.size() * kGzRatio : end_ - begin_; }

/// The beginning of the first line after a file position.
std::size_t TextSource::line_from(std::size_t position) const {
  constexpr std::size_t kPiece = 4096;
  std::string piece(kPiece, '\0');
  for (; position < file_.size(); position += piece.size()) {
    piece.resize(std::min(kPiece, file_.size() - position));
    file_.read(position, std::as_writable_bytes(std::span(piece)));
    if (const std::size_t end = piece.find('\n'); end != std::string::npos) return position + end + 1;
  }
  return file_.size();
}

std::string_view TextSource::next(std::size_t bytes) {
  offset_ += given_;
  used_ -= given_;
  if (used_ > 0) std::memmove(buffer_.get(), buffer_.get() + given_, used_);
  for (;; bytes = std::min(2 * bytes, kLongestLine + 1)) {
    const bool ended = !fill(bytes);
    const std::string_view text(buffer_.get(), std::min(bytes, used_));
    given_ = ended ? text.size() : text.rfind('\n') + 1;
    if (ended && given_ > 0) ends_within_line_ = text.back() != '\n';
    if (ended || given_ > 0) return text.substr(0, given_);
    if (bytes > kLongestLine) fail_at(offset_, fmt::format("a line of more than {} bytes", kLongestLine));
  }
}

void TextSource::require_whole_lines() {
  if (ends_within_line_)
    fail_at(offset_ + used_,
            "the file ends within a line and may be truncated, expected a newline at its end (--allow-missing-newline "
            "accepts the line)");
}

/// Reads until the buffer holds `bytes` bytes. Returns false if the text ends before or with them.
bool TextSource::fill(std::size_t bytes) {
  if (used_ >= bytes) return true;
  const std::size_t most = gz_ ? bytes : std::min(bytes, used_ + end_ - position_);
  reserve(most);
  used_ += read({buffer_.get() + used_, most - used_});
  const bool ended = gz_ ? used_ < bytes : position_ == end_;
  if (ended) file_.check_unchanged();
  return !ended;
}

std::size_t TextSource::read(std::span<char> to) {
  if (gz_) return read_gz(to);
  constexpr std::size_t kPiece = std::size_t{4} << 20;  // bytes that justify a thread
  const auto bytes = std::as_writable_bytes(to);
  parallel_ranges(bytes.size(), bytes.size() / kPiece, [&](auto, std::size_t begin, std::size_t end) {
    file_.read(position_ + begin, bytes.subspan(begin, end - begin));
  });
  position_ += bytes.size();
  return bytes.size();
}

std::size_t TextSource::read_gz(std::span<char> to) {
  try {
    return gz_->read(to);
  } catch (const GzProblem& problem) {
    file_.check_unchanged();
    fail_at(offset_ + used_ + problem.good, problem.message);
  }
}

void TextSource::reserve(std::size_t bytes) {
  if (bytes <= capacity_) return;
  const std::size_t capacity = std::max(bytes, kSpareBytes);
  std::shared_ptr<char[]> larger = capacity == kSpareBytes ? spare_buffers.take() : nullptr;
  if (!larger) larger = allocate<char>(capacity);
  std::copy_n(buffer_.get(), used_, larger.get());
  buffer_ = std::move(larger);
  capacity_ = capacity;
}

/// Reads the text up to `offset` again to count its lines.
void TextSource::fail_at(std::size_t offset, const std::string& what) {
  std::size_t line = 1;
  std::size_t column = 1;
  rewind();
  do {
    used_ = 0;
    fill(std::min(offset, kLongestLine));
    offset -= used_;
    for (const char c : std::string_view(buffer_.get(), used_)) column = c == '\n' ? (++line, 1) : column + 1;
  } while (offset > 0 && used_ > 0);
  throw located(name(), line, {column, what});
}

}  // namespace spdnn
