#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "io/packed/file.hpp"
#include "spdnn/array.hpp"
#include "spdnn/images.hpp"

namespace spdnn {

/// Where the images lie in a packed file, so that some can be read without the others. An image is a run of elements in
/// each of the arrays: words of bits; or columns and, where entries have values of their own, values.
struct PackedImageLayout {
  struct Elements {
    std::uint32_t section = 0;
    std::uint32_t width = 0;  ///< bytes per element: 1, 2, 4 or 8
  };

  Index images = 0;
  Index neurons = 0;
  std::vector<Elements> arrays;      ///< none where no image has an entry
  bool bits = false;                 ///< the array holds words of bits, equally many per image
  Array<Offset> offsets;             ///< images + 1: where each begins, in elements; empty for bits
  std::vector<float> palette;        ///< where values are codes
  float value = 1;                   ///< of every entry, where there is no array of values
  std::uint64_t table_checksum = 0;  ///< the same in two files only where all sections are

  Offset elements() const { return begin(images); }
  /// Where an image begins; images beyond the last have no elements.
  Offset begin(Index image) const;
};

/// Reads and checks everything of the file but those arrays. DataError where it is not as expected.
PackedImageLayout read_image_layout(const PackedFile& file);

/// Elements of one array, as they are in the file.
struct RawElements {
  std::shared_ptr<std::byte> bytes;
  std::size_t size = 0;
};
/// The images of these ids, ascending, from their elements, of which there are some for each array of the layout. Ids
/// beyond the last image become images of zeros. DataError, without the file's name, where the elements make no images.
ImageSet images_of_elements(const PackedImageLayout& layout, std::span<const Index> ids,
                            std::vector<RawElements> elements);

/// The images of these ids, ascending, of a file whose checksums somebody has compared.
ImageSet read_some_images(const PackedFile& file, const PackedImageLayout& layout, std::span<const Index> ids);

}  // namespace spdnn
