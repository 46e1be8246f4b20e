#include "io/packed/image_layout.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "core/types/all_finite.hpp"
#include "io/networks/text/row_order.hpp"
#include "io/packed/layer_reader.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

using packed::kNone;

namespace {

std::size_t words_per_image(const PackedImageLayout& layout) { return (std::size_t{layout.neurons} + 63) / 64; }

/// Adds an array; DataError unless the section holds exactly its elements.
void add_array(const PackedFile& file, PackedImageLayout& layout, std::uint32_t section, std::uint32_t width) {
  layout.arrays.push_back({section, width});
  if (file.entry(section).kind != packed::Kind::data || file.entry(section).bytes != layout.elements() * width)
    file.fail("is corrupted: its images have too many or too few entries");
  file.check_gap_before(section);
}

ImageSet bit_images(const PackedImageLayout& layout, std::span<const Index> ids, const RawElements& words) {
  BitMatrix bits{.rows = static_cast<Index>(ids.size()), .cols = layout.neurons};
  const std::size_t count = ids.size() * words_per_image(layout);
  std::shared_ptr<std::byte> memory = words.bytes;
  if (words.size < count * sizeof(std::uint64_t)) {
    memory = allocate_bytes(count * sizeof(std::uint64_t));
    std::fill(std::copy_n(words.bytes.get(), words.size, memory.get()), memory.get() + count * sizeof(std::uint64_t),
              std::byte{0});
  }
  const auto* const first = reinterpret_cast<const std::uint64_t*>(memory.get());
  bits.words = {std::shared_ptr<const std::uint64_t[]>(std::move(memory), first), count};
  ImageSet images{std::move(bits)};
  try {
    images.validate();
  } catch (const std::invalid_argument& error) {
    throw DataError(error.what());
  }
  return images;
}

template <class From>
Array<Index> columns_of(const RawElements& raw) {
  const std::size_t count = raw.size / sizeof(From);
  const auto columns = allocate<Index>(count);
  const auto* const from = reinterpret_cast<const From*>(raw.bytes.get());
  std::copy(from, from + count, columns.get());
  return {columns, count};
}

/// Decodes palette indices to values.
template <class Code>
Array<float> decoded(const std::vector<float>& palette, const RawElements& raw) {
  const std::size_t count = raw.size / sizeof(Code);
  const auto values = allocate<float>(count);
  const auto* const codes = reinterpret_cast<const Code*>(raw.bytes.get());
  for (std::size_t k = 0; k < count; ++k) {
    if (codes[k] >= palette.size()) throw DataError("a value outside the palette");
    values[static_cast<std::ptrdiff_t>(k)] = palette[codes[k]];
  }
  return {values, count};
}

Array<float> values_of(const PackedImageLayout& layout, std::uint32_t width, const RawElements& raw) {
  if (width == 1) return decoded<std::uint8_t>(layout.palette, raw);
  if (width == 2) return decoded<std::uint16_t>(layout.palette, raw);
  const std::size_t count = raw.size / sizeof(float);
  const auto* const first = reinterpret_cast<const float*>(raw.bytes.get());
  Array<float> values(std::shared_ptr<const float[]>(raw.bytes, first), count);
  if (!all_finite(values.span())) throw DataError("a value is not finite");
  return values;
}

}  // namespace

Offset PackedImageLayout::begin(Index image) const {
  const Index known = std::min(image, images);
  return bits ? Offset{known} * words_per_image(*this) : offsets.empty() ? 0 : offsets[known];
}

PackedImageLayout read_image_layout(const PackedFile& file) {
  const std::uint32_t section = file.require(packed::Kind::images, "images");
  LayerReader reader(file, LayerReader::Repeats::refused);
  const packed::ImagesRecord record = images_record(file, reader, section);
  const packed::MatrixRecord& matrix = record.sparse;
  if (matrix.rows > kMaxIndex || matrix.cols > kMaxIndex || matrix.cols == 0)
    file.fail("is corrupted: more than 2^31-1 images or neurons, or no neurons");
  PackedImageLayout layout{
      .images = matrix.rows, .neurons = matrix.cols, .table_checksum = file.header().table_checksum};
  layout.bits = record.bits != kNone;
  if (layout.bits) {
    add_array(file, layout, record.bits, sizeof(std::uint64_t));
    return layout;
  }
  layout.offsets = reader.row_offsets(matrix, "images");
  layout.palette = reader.palette(matrix, "images");
  layout.value = matrix.value;
  reader.run(ProgressCallback{});
  if (layout.elements() == 0) return layout;
  add_array(file, layout, matrix.indices, matrix.cols > packed::kNarrowColumns ? 4 : 2);
  if (matrix.value_bytes > 0) add_array(file, layout, matrix.values, matrix.value_bytes);
  return layout;
}

ImageSet images_of_elements(const PackedImageLayout& layout, std::span<const Index> ids,
                            std::vector<RawElements> elements) {
  if (layout.bits) return bit_images(layout, ids, elements.front());
  CsrMatrix rows{.rows = static_cast<Index>(ids.size()), .cols = layout.neurons, .value = layout.value};
  std::vector<Offset> offsets{0};
  for (const Index id : ids) offsets.push_back(offsets.back() + layout.begin(id + 1) - layout.begin(id));
  rows.offsets = Array<Offset>(std::move(offsets));
  if (elements.empty()) return {rows};
  rows.indices = layout.arrays[0].width == 2 ? columns_of<std::uint16_t>(elements[0]) : columns_of<Index>(elements[0]);
  if (elements.size() > 1) rows.values = values_of(layout, layout.arrays[1].width, elements[1]);
  const auto outside = [&](Index column) { return column >= rows.cols; };
  const std::span<const Index> columns = rows.indices.span();
  const bool ascending = falls(columns) == falls_at_beginnings(0, columns, rows.offsets);
  if (std::any_of(columns.begin(), columns.end(), outside) || (!ascending && repeated_entry(rows)))
    throw DataError("a neuron is out of range, or occurs twice");
  return {rows};
}

ImageSet read_some_images(const PackedFile& file, const PackedImageLayout& layout, std::span<const Index> ids) {
  Offset count = 0;
  for (const Index id : ids) count += layout.begin(id + 1) - layout.begin(id);
  std::vector<RawElements> elements;
  for (const PackedImageLayout::Elements& array : layout.arrays) {
    RawElements raw{allocate_bytes(count * array.width), count * array.width};
    std::size_t at = 0;
    for (std::size_t i = 0; i < ids.size();) {
      std::size_t end = i + 1;
      while (end < ids.size() && ids[end] == ids[end - 1] + 1) ++end;
      const Offset begin = layout.begin(ids[i]);
      const std::size_t bytes = (layout.begin(ids[end - 1] + 1) - begin) * array.width;
      file.read(array.section, begin * array.width, {raw.bytes.get() + at, bytes});
      at += bytes;
      i = end;
    }
    elements.push_back(std::move(raw));
  }
  return images_of_elements(layout, ids, std::move(elements));
}

}  // namespace spdnn
