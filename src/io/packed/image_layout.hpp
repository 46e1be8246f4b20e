#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "io/packed/file.hpp"
#include "spdnn/array.hpp"
#include "spdnn/images.hpp"

namespace spdnn {

/// The location of images in a packed file, so that some can be read without the others. An image is a run of elements
/// in each array: words of bits; or columns and, unless all entries are equal, values.
struct PackedImageLayout {
  struct Elements {
    std::uint32_t section = 0;
    std::uint32_t width = 0;  ///< bytes per element: 1, 2, 4 or 8
  };

  Index images = 0;
  Index neurons = 0;
  std::vector<Elements> arrays{};    ///< empty if no image has an entry
  bool bits = false;                 ///< the array holds words of bits, the same number per image
  Array<Offset> offsets{};           ///< images + 1 entries: the first element of each image; empty for bits
  std::vector<float> palette{};      ///< used if values are palette indices
  float value = 1;                   ///< of every entry, if there is no array of values
  std::uint64_t table_checksum = 0;  ///< equal in two files only if all sections are equal

  Offset elements() const { return begin(images); }
  /// The first element of an image; images beyond the last have no elements.
  Offset begin(Index image) const;
};

/// Reads and checks the whole file except those arrays. DataError if it is invalid.
PackedImageLayout read_image_layout(const PackedFile& file);

/// Elements of one array, in the file's form.
struct RawElements {
  std::shared_ptr<std::byte> bytes;
  std::size_t size = 0;
};
/// Builds the images of these ids, ascending, from their elements in each array of the layout. Ids beyond the last
/// image give images of zeros. DataError, without the file's name, if the elements are invalid.
ImageSet images_of_elements(const PackedImageLayout& layout, std::span<const Index> ids,
                            std::vector<RawElements> elements);

/// The images of these ids, ascending, of a file whose checksums have already been checked.
ImageSet read_some_images(const PackedFile& file, const PackedImageLayout& layout, std::span<const Index> ids);

}  // namespace spdnn
