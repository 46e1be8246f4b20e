#include "io/text_source.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "spdnn/error.hpp"

namespace spdnn {

namespace {

constexpr std::size_t kGzRatio = 8;  // official layers shrink 7 to 9 times

/// Drops the pages of a read part of a mapped file from this process (not from the page cache), so that a file of
/// 5 GB does not count as 5 GB of memory in use. Advice: failure changes nothing.
void forget(const char* begin, const char* end) {
  constexpr std::uintptr_t kPage = 4096;
  const std::uintptr_t address = reinterpret_cast<std::uintptr_t>(begin);
  const std::uintptr_t last = reinterpret_cast<std::uintptr_t>(end) / kPage * kPage;
  begin += (kPage - address % kPage) % kPage;
  if (begin + kPage <= end)
    ::madvise(const_cast<char*>(begin), last - reinterpret_cast<std::uintptr_t>(begin), MADV_DONTNEED);
}

}  // namespace

TextSource::TextSource(const std::filesystem::path& path) : name_(path.string()), file_(path) {
  if (file_->empty()) throw DataError(name_ + ": the file is empty, expected lines of text");
  text_ = file_->text();
  rewind();
}

TextSource::TextSource(std::string name, std::string_view text) : name_(std::move(name)), text_(text) {
  if (text_.empty()) throw DataError(name_ + ": the file is empty, expected lines of text");
  rewind();
}

void TextSource::rewind() {
  position_ = 0;
  if (!name_.ends_with(".gz")) return;
  gz_ = std::make_unique<GzReader>(name_, std::as_bytes(std::span(text_)));
  used_ = given_ = 0;
}

void TextSource::put_back(std::size_t bytes) {
  if (gz_)
    given_ -= bytes;
  else
    position_ -= bytes;
}

std::size_t TextSource::expected_bytes() const { return gz_ ? text_.size() * kGzRatio : text_.size(); }

std::string_view TextSource::next(std::size_t bytes) { return gz_ ? next_gz(bytes) : next_plain(bytes); }

std::string_view TextSource::next_plain(std::size_t bytes) {
  if (file_ && position_ >= bytes) forget(text_.data() + position_ - bytes, text_.data() + position_);
  const std::string_view rest = text_.substr(position_);
  std::size_t size = std::min(bytes, rest.size());
  if (size < rest.size()) size = std::min(rest.find('\n', size - 1), rest.size() - 1) + 1;
  position_ += size;
  return rest.substr(0, size);
}

std::string_view TextSource::next_gz(std::size_t bytes) {
  used_ -= given_;
  if (used_ > 0) std::memmove(buffer_.data(), buffer_.data() + given_, used_);
  if (buffer_.size() < bytes) buffer_.resize(bytes);
  used_ += gz_->read(std::span(buffer_).subspan(used_));
  if (position_ == 0 && used_ == 0) throw DataError(name_ + ": the file is empty, expected lines of text");
  position_ += used_;
  given_ = used_;
  if (used_ < buffer_.size()) return {buffer_.data(), given_};  // the end of the text
  while (given_ > 0 && buffer_[given_ - 1] != '\n') --given_;
  if (given_ == 0) throw DataError(name_ + ": a line of more than " + std::to_string(used_) + " bytes");
  return {buffer_.data(), given_};
}

}  // namespace spdnn
