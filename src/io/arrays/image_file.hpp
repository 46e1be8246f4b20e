#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "io/files/input_file.hpp"
#include "spdnn/types.hpp"

namespace spdnn {

/// An image of 8 bits per sample: greyscale or RGB.
struct Pixels {
  Index channels = 1;
  std::vector<std::uint8_t> values;  ///< height x width x channels
};

/// Decodes a PNG or JPEG image of a given size, which is checked before memory is allocated; the format is detected
/// from the first bytes. Samples are unchanged: no gamma, no colour profile. A DataError that names the file reports
/// damage, truncation, another size, transparency, 16 bits per sample, or CMYK.
Pixels read_image_file(const InputFile& file, Index height, Index width);

/// Whether the file begins with the signature of a PNG or JPEG image.
bool holds_picture(const std::filesystem::path& path);

/// The decoders of read_image_file(); `bytes` is the whole file.
Pixels decode_png(const std::string& place, std::span<const std::byte> bytes, Index height, Index width);
Pixels decode_jpeg(const std::string& place, std::span<const std::byte> bytes, Index height, Index width);
/// DataError if an image does not have the expected size.
void check_image_size(const std::string& place, std::uint64_t found_height, std::uint64_t found_width, Index height,
                      Index width);

}  // namespace spdnn
