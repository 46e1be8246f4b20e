#include <xxhash.h>

#include <algorithm>
#include <atomic>

#include "core/parallel.hpp"
#include "io/digests.hpp"
#include "io/packed/format.hpp"
#include "spdnn/files.hpp"

namespace spdnn {

namespace {

/// Sets the bits of some images in `words`, which are zero. Returns false where an entry is not 1, or comes twice.
bool set_bits(const CsrMatrix& images, Index first, Index count, std::size_t width, std::uint64_t* words) {
  for (Index image = first; image < first + count; ++image, words += width) {
    for (Offset k = images.offsets[image]; k < images.offsets[std::size_t{image} + 1]; ++k) {
      if (images.entry_value(k) == 0.0F) continue;
      std::uint64_t& word = words[images.indices[k] / 64];
      const std::uint64_t bit = std::uint64_t{1} << (images.indices[k] % 64);
      if (images.entry_value(k) != 1.0F || (word & bit) != 0) return false;
      word |= bit;
    }
  }
  return true;
}

}  // namespace

std::optional<std::uint64_t> image_digest(const ImageSet& images) {
  const std::size_t width = (std::size_t{images.neurons()} + 63) / 64;
  const std::size_t row_bytes = std::max<std::size_t>(1, width) * sizeof(std::uint64_t);
  const auto rows = static_cast<Index>(std::max<std::size_t>(1, packed::kBlockBytes / row_bytes));  // in a block
  std::vector<std::uint64_t> hashes((std::size_t{images.images()} + rows - 1) / rows);
  std::atomic<bool> bits = true;
  parallel_for(hashes.size(), [&](std::size_t block) {
    const auto first = static_cast<Index>(block * rows);
    const Index count = std::min(rows, images.images() - first);
    const std::size_t words = count * width;
    if (images.is_bits()) {
      hashes[block] = XXH3_64bits(images.bits().words.data() + first * width, words * sizeof(std::uint64_t));
    } else if (bits) {
      std::vector<std::uint64_t> made(words, 0);
      if (!set_bits(images.sparse(), first, count, width, made.data())) bits = false;
      hashes[block] = XXH3_64bits(made.data(), words * sizeof(std::uint64_t));
    }
  });
  if (!bits) return std::nullopt;
  hashes.insert(hashes.end(), {images.images(), images.neurons()});
  return packed::combine_hashes(hashes);
}

}  // namespace spdnn
