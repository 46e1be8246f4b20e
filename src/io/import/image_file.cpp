#include "io/import/image_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "spdnn/error.hpp"

namespace spdnn {

Pixels read_image_file(const InputFile& file, Index height, Index width) {
  std::vector<std::byte> bytes(file.size());
  file.read(0, bytes);
  file.check_unchanged();
  const auto begins = [&](std::string_view signature) {
    return bytes.size() >= signature.size() &&
           std::equal(signature.begin(), signature.end(), bytes.begin(),
                      [](char c, std::byte byte) { return static_cast<std::byte>(c) == byte; });
  };
  if (begins("\x89PNG\r\n\x1a\n")) return decode_png(file.name(), bytes, height, width);
  if (begins("\xff\xd8\xff")) return decode_jpeg(file.name(), bytes, height, width);
  throw DataError(file.name() + ": neither a PNG nor a JPEG image");
}

void check_image_size(const std::string& place, std::uint64_t found_height, std::uint64_t found_width, Index height,
                      Index width) {
  if (found_height != height || found_width != width)
    throw DataError(fmt::format("{}: an image of {} x {}, expected {} x {} (height x width)", place, found_height,
                                found_width, height, width));
}

}  // namespace spdnn
