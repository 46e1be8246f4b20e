#include "spdnn/images.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <stdexcept>

#include "core/threads/parallel.hpp"

namespace spdnn {

namespace {

Offset count_bits(const std::uint64_t* words, std::size_t count) {
  Offset sum = 0;
  for (std::size_t w = 0; w < count; ++w) sum += static_cast<Offset>(std::popcount(words[w]));
  return sum;
}

bool all_ones(const CsrMatrix& sparse) {
  if (sparse.uniform()) return sparse.value == 1.0F;
  return std::all_of(sparse.values.begin(), sparse.values.end(), [](float v) { return v == 1.0F; });
}

}  // namespace

Index ImageSet::images() const {
  return std::visit([](const auto& d) { return d.rows; }, data);
}
Index ImageSet::neurons() const {
  return std::visit([](const auto& d) { return d.cols; }, data);
}
void ImageSet::validate() const {
  if (!is_bits()) return sparse().validate();
  const BitMatrix& matrix = bits();
  if (matrix.rows > kMaxIndex || matrix.cols > kMaxIndex)
    throw std::invalid_argument("more than 2^31-1 images or neurons");
  if (matrix.words.size() != matrix.words_per_row() * matrix.rows)
    throw std::invalid_argument("bits must have one word for each 64 neurons of an image");
  if (matrix.cols % 64 == 0) return;
  const std::uint64_t outside = ~std::uint64_t{0} << (matrix.cols % 64);
  for (Index image = 0; image < matrix.rows; ++image)
    if ((matrix.row(image)[matrix.cols / 64] & outside) != 0)
      throw std::invalid_argument("a bit is set beyond the last neuron");
}
bool ImageSet::binary() const { return is_bits() || all_ones(sparse()); }

std::size_t ImageSet::bytes() const { return is_bits() ? bits().words.bytes() : sparse().bytes(); }

Offset ImageSet::nonzeros() const {
  if (!is_bits()) return sparse().entries();
  const Array<std::uint64_t>& words = bits().words;
  std::vector<Offset> counts(static_cast<std::size_t>(host_threads()), 0);
  parallel_ranges(words.size(), counts.size(), [&](std::size_t piece, std::size_t begin, std::size_t end) {
    counts[piece] = count_bits(words.data() + begin, end - begin);
  });
  return std::accumulate(counts.begin(), counts.end(), Offset{0});
}

Index ImageSet::empty_images() const {
  const auto has_bit = [&](Index image) {
    const std::uint64_t* const row = bits().row(image);
    return std::any_of(row, row + bits().words_per_row(), [](std::uint64_t word) { return word != 0; });
  };
  const auto has_entry = [&](Index image) {
    const CsrMatrix& matrix = sparse();
    for (Offset k = matrix.offsets[image]; k < matrix.offsets[std::size_t{image} + 1]; ++k)
      if (matrix.entry_value(k) != 0.0F) return true;
    return false;
  };
  std::vector<Index> counts(static_cast<std::size_t>(host_threads()), 0);
  parallel_ranges(images(), counts.size(), [&](std::size_t piece, std::size_t begin, std::size_t end) {
    Index empty = 0;
    for (std::size_t i = begin; i < end; ++i) {
      const auto image = static_cast<Index>(i);
      empty += (is_bits() ? has_bit(image) : has_entry(image)) ? 0 : 1;
    }
    counts[piece] = empty;
  });
  return std::accumulate(counts.begin(), counts.end(), Index{0});
}

float ImageSet::max_value() const {
  if (is_bits()) return bits().words.empty() ? 0.0F : 1.0F;
  if (sparse().entries() == 0) return 0.0F;
  return sparse().uniform() ? sparse().value : *std::max_element(sparse().values.begin(), sparse().values.end());
}

CsrMatrix ImageSet::to_csr() const {
  if (!is_bits()) return sparse();
  const BitMatrix& matrix = bits();
  const std::size_t width = matrix.words_per_row();
  std::vector<Offset> offsets(std::size_t{matrix.rows} + 1, 0);
  parallel_ranges(matrix.rows, static_cast<std::size_t>(host_threads()), [&](auto, auto begin, auto end) {
    for (std::size_t i = begin; i < end; ++i) offsets[i + 1] = count_bits(matrix.words.data() + i * width, width);
  });
  for (std::size_t i = 0; i < matrix.rows; ++i) offsets[i + 1] += offsets[i];
  const Offset entries = offsets.back();
  const auto indices = allocate<Index>(entries);
  parallel_ranges(matrix.rows, static_cast<std::size_t>(host_threads()), [&](auto, auto begin, auto end) {
    Index* out = indices.get() + offsets[begin];
    for (std::size_t i = begin; i < end; ++i) {
      for (std::size_t w = 0; w < width; ++w) {
        for (std::uint64_t word = matrix.words[i * width + w]; word != 0; word &= word - 1)
          *out++ = static_cast<Index>(w * 64 + static_cast<std::size_t>(std::countr_zero(word)));
      }
    }
  });
  return CsrMatrix{.rows = matrix.rows,
                   .cols = matrix.cols,
                   .offsets = Array<Offset>(std::move(offsets)),
                   .indices = Array<Index>(indices, entries)};
}

BitMatrix ImageSet::to_bits() const {
  if (is_bits()) return bits();
  const CsrMatrix& matrix = sparse();
  if (!all_ones(matrix)) throw std::invalid_argument("images with values other than 1 do not fit into bits");
  BitMatrix result{.rows = matrix.rows, .cols = matrix.cols};
  const std::size_t width = result.words_per_row();
  const auto words = allocate<std::uint64_t>(width * matrix.rows);
  parallel_ranges(matrix.rows, static_cast<std::size_t>(host_threads()), [&](auto, auto begin, auto end) {
    std::fill(words.get() + begin * width, words.get() + end * width, std::uint64_t{0});
    for (std::size_t i = begin; i < end; ++i)
      for (const Index j : matrix.row(static_cast<Index>(i))) words[i * width + j / 64] |= std::uint64_t{1} << (j % 64);
  });
  result.words = Array<std::uint64_t>(words, width * matrix.rows);
  return result;
}

ImageSet ImageSet::slice(Index first, Index count) const {
  if (first > images() || count > images() - first) throw std::invalid_argument("slice outside the images");
  if (first == 0 && count == images()) return *this;
  if (is_bits()) {
    BitMatrix part = bits();
    const std::size_t width = part.words_per_row();
    part.rows = count;
    const auto holder = std::make_shared<const Array<std::uint64_t>>(bits().words);
    part.words = {std::shared_ptr<const std::uint64_t[]>(holder, holder->data() + first * width), count * width};
    return {part};
  }
  CsrMatrix part = sparse();
  part.rows = count;
  const Offset begin = sparse().offsets[first];
  const Offset entries = sparse().offsets[std::size_t{first} + count] - begin;
  std::vector<Offset> offsets(sparse().offsets.begin() + first, sparse().offsets.begin() + first + count + 1);
  for (Offset& offset : offsets) offset -= begin;
  part.offsets = Array<Offset>(std::move(offsets));
  const auto holder = std::make_shared<const CsrMatrix>(sparse());
  part.indices = {std::shared_ptr<const Index[]>(holder, holder->indices.data() + begin), entries};
  if (!holder->uniform())
    part.values = {std::shared_ptr<const float[]>(holder, holder->values.data() + begin), entries};
  return {part};
}

ImageSet ImageSet::select(std::span<const Index> chosen) const {
  const auto for_chosen = [&](const auto& copy) {
    parallel_ranges(chosen.size(), static_cast<std::size_t>(host_threads()), [&](auto, auto begin, auto end) {
      for (std::size_t i = begin; i < end; ++i) copy(i, chosen[i]);
    });
  };
  if (is_bits()) {
    BitMatrix part = bits();
    const std::size_t width = part.words_per_row();
    const auto words = allocate<std::uint64_t>(chosen.size() * width);
    for_chosen([&](std::size_t i, Index image) { std::copy_n(bits().row(image), width, words.get() + i * width); });
    part.rows = narrow<Index>(chosen.size());
    part.words = Array<std::uint64_t>(words, chosen.size() * width);
    return {part};
  }
  CsrMatrix part = sparse();
  std::vector<Offset> offsets{0};
  offsets.reserve(chosen.size() + 1);
  for (const Index image : chosen) offsets.push_back(offsets.back() + sparse().degree(image));
  const auto indices = allocate<Index>(offsets.back());
  const auto values = allocate<float>(part.uniform() ? 0 : offsets.back());
  for_chosen([&](std::size_t i, Index image) {
    const Offset begin = sparse().offsets[image];
    std::copy_n(sparse().indices.data() + begin, sparse().degree(image), indices.get() + offsets[i]);
    if (!part.uniform()) std::copy_n(sparse().values.data() + begin, sparse().degree(image), values.get() + offsets[i]);
  });
  if (!part.uniform()) part.values = Array<float>(values, offsets.back());
  part.rows = narrow<Index>(chosen.size());
  part.indices = Array<Index>(indices, offsets.back());
  part.offsets = Array<Offset>(std::move(offsets));
  return {part};
}

ImageSet make_image_set(CsrMatrix sparse) {
  ImageSet set{std::move(sparse)};
  const std::size_t bit_bytes = (std::size_t{set.neurons()} + 63) / 64 * 8 * set.images();
  if (bit_bytes < set.bytes() && all_ones(set.sparse())) return {set.to_bits()};
  return set;
}

}  // namespace spdnn
