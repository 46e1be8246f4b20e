#include "core/text/message.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>

namespace spdnn {

namespace {

bool continues(unsigned byte) { return (byte & 0xC0U) == 0x80; }

/// The number of bytes of the character at the start of the text; 0 for a control character or invalid UTF-8 (Unicode,
/// table 3-7).
std::size_t printable_bytes(std::string_view text) {
  const auto byte = [&](std::size_t i) -> unsigned {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
  };
  const auto from_to = [&](unsigned low, unsigned high) { return low <= byte(1) && byte(1) <= high; };
  const unsigned first = byte(0);
  if (first < 0x80) return first >= 0x20 && first != 0x7F ? 1 : 0;
  if (first == 0xC2) return from_to(0xA0, 0xBF) ? 2 : 0;  // C1 control characters are below
  if (first > 0xC2 && first <= 0xDF) return from_to(0x80, 0xBF) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const bool second = from_to(first == 0xE0 ? 0xA0 : 0x80, first == 0xED ? 0x9F : 0xBF);
    return second && continues(byte(2)) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const bool second = from_to(first == 0xF0 ? 0x90 : 0x80, first == 0xF4 ? 0x8F : 0xBF);
    return second && continues(byte(2)) && continues(byte(3)) ? 4 : 0;
  }
  return 0;
}

/// Escapes the text and passes it to put(std::string_view) piece by piece.
template <class Put>
void escape(std::string_view text, Put put) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  while (!text.empty()) {
    const std::size_t size = printable_bytes(text);
    const auto byte = static_cast<unsigned char>(text[0]);
    const std::array<char, 4> code{'\\', 'x', kDigits[byte >> 4U], kDigits[byte & 0xFU]};
    put(size > 0 ? text.substr(0, size) : std::string_view(code.data(), code.size()));
    text.remove_prefix(std::max<std::size_t>(size, 1));
  }
}

/// Collects a line so that it is written in one piece unless it is very long; lines of programs that share a log then
/// do not mix.
class Line {
 public:
  explicit Line(int descriptor) : descriptor_(descriptor) {}
  void put(std::string_view piece) {
    if (piece.size() > buffer_.size() - used_) write();
    std::copy(piece.begin(), piece.end(), buffer_.begin() + static_cast<std::ptrdiff_t>(used_));
    used_ += piece.size();
  }
  void write() {
    for (std::size_t done = 0; done < used_;) {
      const ssize_t written = ::write(descriptor_, buffer_.data() + done, used_ - done);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) break;
      done += static_cast<std::size_t>(written);
    }
    used_ = 0;
  }

 private:
  int descriptor_;
  std::array<char, 4096> buffer_;
  std::size_t used_ = 0;
};

void write_message(int descriptor, std::string_view who, std::initializer_list<std::string_view> parts) noexcept {
  Line line(descriptor);
  line.put("spdnn: ");
  escape(who, [&](std::string_view piece) { line.put(piece); });
  for (const std::string_view part : parts) escape(part, [&](std::string_view piece) { line.put(piece); });
  line.put("\n");
  line.write();
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string line;
  escape(text, [&](std::string_view piece) { line += piece; });
  return line;
}

void print_message(std::initializer_list<std::string_view> parts) noexcept { print_message({}, parts); }

void print_message(std::string_view who, std::initializer_list<std::string_view> parts) noexcept {
  write_message(STDERR_FILENO, who, parts);
}

void print_error(std::string_view who, std::initializer_list<std::string_view> parts) noexcept {
  print_message(who, parts);
  const char* const path = std::getenv("SPDNN_ERROR_FILE");
  const int file = path == nullptr ? -1 : ::open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0) return;
  write_message(file, who, parts);
  ::close(file);
}

}  // namespace spdnn
