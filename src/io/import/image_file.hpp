#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "io/input_file.hpp"
#include "spdnn/types.hpp"

namespace spdnn {

/// An image of 8 bits per sample: grey, or red, green and blue.
struct Pixels {
  Index channels = 1;
  std::vector<std::uint8_t> values;  ///< height x width x channels
};

/// Decodes a PNG or JPEG image of that size, which is checked before memory is taken for it; what it is follows from
/// its first bytes. Samples are as the file has them: no gamma, no colour profile. DataError, naming the file, where it
/// is damaged or cut off, or has another size, transparency, 16 bits per sample, or the inks of a printer.
Pixels read_image_file(const InputFile& file, Index height, Index width);

/// Whether the file begins as a PNG or JPEG image does.
bool holds_picture(const std::filesystem::path& path);

/// The decoders of read_image_file(); `bytes` is all of the file.
Pixels decode_png(const std::string& place, std::span<const std::byte> bytes, Index height, Index width);
Pixels decode_jpeg(const std::string& place, std::span<const std::byte> bytes, Index height, Index width);
/// DataError where an image does not have the size that is expected.
void check_image_size(const std::string& place, std::uint64_t found_height, std::uint64_t found_width, Index height,
                      Index width);

}  // namespace spdnn
