// PNG and JPEG images. The input has two bytes, the requested height and width, and then the file; the checksums of a
// PNG image's chunks are corrected, so that libpng's later checks are reached.

#include <zlib.h>

#include <optional>

#include "fuzz/harness.hpp"
#include "io/arrays/image_file.hpp"

namespace {

using namespace spdnn;

std::uint32_t big_endian(const std::string& text, std::size_t at) {
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < 4; ++i) number = number << 8U | static_cast<std::uint8_t>(text[at + i]);
  return number;
}

void correct_checksums(std::string& png) {
  constexpr std::size_t kSignature = 8;
  constexpr std::size_t kFrame = 12;  ///< length, name and checksum of a chunk
  for (std::size_t at = kSignature; at + kFrame <= png.size();) {
    const std::size_t length = big_endian(png, at);
    if (length > png.size() - at - kFrame) return;
    const auto sum = ::crc32(0, reinterpret_cast<const Bytef*>(png.data() + at + 4), static_cast<uInt>(length + 4));
    for (std::size_t i = 0; i < 4; ++i) png[at + length + 8 + i] = static_cast<char>(sum >> (24 - 8 * i) & 0xffU);
    at += length + kFrame;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::MemoryPeak peak(size);
  fuzz::Bytes bytes(data, size);
  const Index height = 1 + bytes.below(64);
  const Index width = 1 + bytes.below(64);
  std::string content(bytes.text());
  if (content.starts_with("\x89PNG")) correct_checksums(content);

  std::optional<Pixels> pixels;
  fuzz::attempt([&] {
    pixels =
        read_image_file(InputFile("fuzz", std::as_bytes(std::span(content.data(), content.size()))), height, width);
  });
  fuzz::require(!pixels || pixels->values.size() == std::size_t{height} * width * pixels->channels,
                "an image has its pixels");
  return 0;
}
