#include <xxhash.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <utility>

#include "core/threads/parallel.hpp"
#include "io/packed/digests.hpp"
#include "io/packed/format.hpp"

namespace spdnn {

namespace {

/// Sets the bits of some images in `words`, which are zero. Returns false if an entry is not 1, or occurs twice.
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

std::size_t words_of_row(Index neurons) { return (std::size_t{neurons} + 63) / 64; }

std::uint64_t hash_words(const std::uint64_t* words, std::size_t count) {
  return XXH3_64bits(words, count * sizeof(std::uint64_t));
}

/// Calls hash(first, count) for each block of images, in parallel.
template <class Hash>
std::vector<std::uint64_t> hash_blocks(const ImageSet& images, const Hash& hash) {
  const Index rows = images_per_hash(images.neurons());
  std::vector<std::uint64_t> hashes((std::size_t{images.images()} + rows - 1) / rows);
  parallel_for(hashes.size(), [&](std::size_t block) {
    const auto first = static_cast<Index>(block * rows);
    hashes[block] = hash(first, std::min(rows, images.images() - first));
  });
  return hashes;
}

}  // namespace

Index images_per_hash(Index neurons) {
  const std::size_t row_bytes = std::max<std::size_t>(1, words_of_row(neurons)) * sizeof(std::uint64_t);
  return static_cast<Index>(std::max<std::size_t>(1, packed::kBlockBytes / row_bytes));
}

std::optional<std::vector<std::uint64_t>> image_hashes(const ImageSet& images) {
  const std::size_t width = words_of_row(images.neurons());
  if (images.is_bits())
    return hash_blocks(images, [&](Index first, Index count) {
      return hash_words(images.bits().words.data() + first * width, count * width);
    });
  std::atomic<bool> bits = true;
  std::vector<std::uint64_t> hashes = hash_blocks(images, [&](Index first, Index count) -> std::uint64_t {
    if (!bits) return 0;
    std::vector<std::uint64_t> made(count * width, 0);
    if (!set_bits(images.sparse(), first, count, width, made.data())) bits = false;
    return hash_words(made.data(), made.size());
  });
  if (!bits) return std::nullopt;
  return hashes;
}

std::vector<std::uint64_t> hashes_with_values(const ImageSet& images) {
  const CsrMatrix rows = images.to_csr();
  return hash_blocks(images, [&](Index first, Index count) {
    std::vector<std::uint64_t> entries;
    for (Index image = first; image < first + count; ++image) {
      entries.push_back(rows.degree(image));
      for (Offset k = rows.offsets[image]; k < rows.offsets[std::size_t{image} + 1]; ++k)
        entries.push_back(std::uint64_t{rows.indices[k]} << 32U | std::bit_cast<std::uint32_t>(rows.entry_value(k)));
    }
    return hash_words(entries.data(), entries.size());
  });
}

std::uint64_t combine_image_hashes(std::vector<std::uint64_t> hashes, Index images, Index neurons) {
  hashes.insert(hashes.end(), {images, neurons});
  return packed::combine_hashes(hashes);
}

std::optional<std::uint64_t> image_digest(const ImageSet& images) {
  auto hashes = image_hashes(images);
  if (!hashes) return std::nullopt;
  return combine_image_hashes(*std::move(hashes), images.images(), images.neurons());
}

}  // namespace spdnn
