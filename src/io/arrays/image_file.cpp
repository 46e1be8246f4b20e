#include "io/arrays/image_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "spdnn/error.hpp"

namespace spdnn {

namespace {

constexpr std::string_view kPng = "\x89PNG\r\n\x1a\n";
constexpr std::string_view kJpeg = "\xff\xd8\xff";

bool begins(std::span<const std::byte> bytes, std::string_view signature) {
  return bytes.size() >= signature.size() &&
         std::equal(signature.begin(), signature.end(), bytes.begin(),
                    [](char c, std::byte byte) { return static_cast<std::byte>(c) == byte; });
}

}  // namespace

bool holds_picture(const std::filesystem::path& path) {
  const InputFile file(path);
  std::vector<std::byte> bytes(std::min(file.size(), kPng.size()));
  file.read(0, bytes);
  return begins(bytes, kPng) || begins(bytes, kJpeg);
}

Pixels read_image_file(const InputFile& file, Index height, Index width) {
  std::vector<std::byte> bytes(file.size());
  file.read(0, bytes);
  file.check_unchanged();
  if (begins(bytes, kPng)) return decode_png(file.name(), bytes, height, width);
  if (begins(bytes, kJpeg)) return decode_jpeg(file.name(), bytes, height, width);
  throw DataError(file.name() + ": neither a PNG nor a JPEG image");
}

void check_image_size(const std::string& place, std::uint64_t found_height, std::uint64_t found_width, Index height,
                      Index width) {
  if (found_height != height || found_width != width)
    throw DataError(
        fmt::format("{}: an image of {} x {}, expected {} x {} (height x width); nothing is scaled here, but "
                    "ImageMagick does: convert IN -resize {}x{}! OUT.png",
                    place, found_height, found_width, height, width, width, height));
}

}  // namespace spdnn
