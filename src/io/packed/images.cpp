#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "io/files/claimed_size.hpp"
#include "io/packed/layer_reader.hpp"
#include "io/packed/read_write.hpp"
#include "io/packed/stored_plan.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

using packed::Kind;
using packed::kNone;

namespace {

/// The set with images of zeros appended.
ImageSet padded(const ImageSet& set, Index images) {
  if (set.is_bits()) {
    BitMatrix bits = set.bits();
    const std::size_t count = images * bits.words_per_row();
    const std::shared_ptr<std::uint64_t[]> words = allocate<std::uint64_t>(count);
    std::fill(std::copy(bits.words.begin(), bits.words.end(), words.get()), words.get() + count, std::uint64_t{0});
    bits.rows = images;
    bits.words = {words, count};
    return {bits};
  }
  CsrMatrix sparse = set.sparse();
  std::vector<Offset> offsets(sparse.offsets.begin(), sparse.offsets.end());
  offsets.resize(std::size_t{images} + 1, offsets.back());
  sparse.rows = images;
  sparse.offsets = Array<Offset>(std::move(offsets));
  return {sparse};
}

BitMatrix load_bits(const PackedFile& file, SectionLoader& loader, const packed::ImagesRecord& record) {
  BitMatrix bits{.rows = record.sparse.rows, .cols = record.sparse.cols};
  if (bits.rows > kMaxIndex || bits.cols > kMaxIndex) file.fail("is corrupted: more than 2^31-1 images or neurons");
  const std::size_t width = bits.words_per_row();
  const std::uint64_t padding = bits.cols % 64 == 0 ? 0 : ~std::uint64_t{0} << (bits.cols % 64);
  bits.words = loader.plain<std::uint64_t>(record.bits, bits.rows * width,
                                           {fmt::format("images: a neuron is outside 1..{}", bits.cols),
                                            [=](std::size_t first, std::span<const std::uint64_t> words) {
                                              bool clean = true;
                                              for (std::size_t last = width - 1 - first % width;
                                                   padding != 0 && last < words.size(); last += width)
                                                clean = clean && (words[last] & padding) == 0;
                                              return clean;
                                            }});
  loader.run(ProgressCallback{});
  return bits;
}

}  // namespace

packed::ImagesRecord images_record(const PackedFile& file, LayerReader& reader, std::uint32_t section) {
  if (file.entry(section).bytes != sizeof(packed::ImagesRecord)) file.fail("is corrupted: invalid record of images");
  const auto bytes = reader.loader().now<std::byte>(section, sizeof(packed::ImagesRecord));
  packed::ImagesRecord record;
  std::memcpy(&record, bytes.data(), sizeof record);
  return record;
}

ImageSet load_images(const PackedFile& file) {
  const std::uint32_t section = file.require(Kind::images, "images");
  LayerReader reader(file, LayerReader::Repeats::refused);
  const packed::ImagesRecord record = images_record(file, reader, section);
  if (record.sparse.cols == 0) file.fail("holds images of 0 neurons, expected at least one");
  if (record.bits != kNone) return {load_bits(file, reader.loader(), record)};
  ImageSet images{reader.matrix(record.sparse, "images")};
  reader.run(ProgressCallback{});
  return images;
}

std::size_t packed_images_bytes(const Path& path) {
  const PackedFile file(path);
  const auto section = file.find(Kind::images);
  if (!section) return 0;
  LayerReader reader(file, LayerReader::Repeats::refused);
  const packed::ImagesRecord record = images_record(file, reader, *section);
  if (record.bits != kNone) return file.entry(record.bits).bytes;
  return record.sparse.indices == kNone ? 0 : file.entry(record.sparse.indices).bytes;
}

ImageSet fit_images(const std::string& name, ImageSet set, std::optional<Index> neurons, std::optional<Index> images) {
  const auto refuse = [&](const std::string& what) { throw DataError(name + ": " + what); };
  if (neurons && set.neurons() != *neurons)
    refuse(fmt::format("images of {} neurons, expected {}", set.neurons(), *neurons));
  if (!images || *images == set.images()) return set;
  if (*images < set.images()) refuse(fmt::format("{} images, expected at most {}", set.images(), *images));
  return padded(set, *images);
}

ImageSet read_packed_images(const Path& path, std::optional<Index> neurons, std::optional<Index> images) {
  const PackedFile file(path);
  ImageSet set = load_images(file);
  if (!neurons) check_claimed_size(file.name(), set.neurons(), "neurons", file.size());
  return fit_images(file.name(), std::move(set), neurons, images);
}

}  // namespace spdnn
