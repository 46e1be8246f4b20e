#include "io/networks/text/image_builder.hpp"

#include <algorithm>
#include <bit>

#include "core/threads/parallel.hpp"

namespace spdnn {

namespace {

constexpr std::size_t kAlwaysFits = std::size_t{1} << 26;  // bit matrices up to this size are always allowed
constexpr unsigned kBlockBits = 4;                         // images are distributed in blocks of 16

bool all_ones(const Entries& entries) { return entries.count == 0 || (entries.uniform && entries.values[0] == 1.0F); }

CsrMatrix without_zeros(const CsrMatrix& matrix) {
  std::vector<Offset> offsets{0};
  std::vector<Index> indices;
  std::vector<float> values;
  for (Index row = 0; row < matrix.rows; ++row) {
    for (Offset k = matrix.offsets[row]; k < matrix.offsets[row + 1]; ++k) {
      if (matrix.entry_value(k) == 0.0F) continue;
      indices.push_back(matrix.indices[k]);
      values.push_back(matrix.entry_value(k));
    }
    offsets.push_back(indices.size());
  }
  const bool uniform = std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) == values.end();
  const float value = values.empty() ? 1.0F : values[0];
  if (uniform) values.clear();
  CsrMatrix result = make_csr(matrix.rows, matrix.cols, std::move(offsets), std::move(indices), std::move(values));
  if (uniform) result.value = value;
  return result;
}

bool has_zero(const CsrMatrix& matrix) {
  if (matrix.uniform()) return matrix.entries() > 0 && matrix.value == 0.0F;
  return std::find(matrix.values.begin(), matrix.values.end(), 0.0F) != matrix.values.end();
}

}  // namespace

ImageBuilder::ImageBuilder(Index neurons, std::size_t expected_text_bytes)
    : neurons_(neurons),
      words_per_row_((std::size_t{neurons} + 63) / 64),
      most_bit_bytes_(std::max(kAlwaysFits, expected_text_bytes)),
      owners_(reading_threads() == 1 ? 1 : std::bit_ceil(2 * reading_threads())) {}

bool ImageBuilder::fits_bits(std::span<const Entries> round) const {
  if (!std::all_of(round.begin(), round.end(), all_ones)) return false;
  return std::size_t{images_} * words_per_row_ * sizeof(std::uint64_t) <= most_bit_bytes_;
}

bool ImageBuilder::add(std::span<const Entries> round) {
  for (const Entries& entries : round)
    if (entries.count > 0) images_ = std::max(images_, entries.largest_first + 1);
  if (!csr_ && !fits_bits(round)) move_to_csr();
  if (csr_) {
    csr_->add(round);
    return true;
  }
  for (const Entries& entries : round) nonzeros_ += entries.count;
  words_.grow(images_ * words_per_row_);
  if (owners_ == 1 || round.size() == 1) {
    for (const Entries& entries : round) set_bits(entries.first.get(), entries.second.get(), entries.count, repeated_);
    return repeated_.empty();
  }
  if (dealt_.size() < round.size()) dealt_.resize(round.size());
  parallel_for(round.size(), [&](std::size_t i) { deal(round[i], dealt_[i]); });
  std::vector<std::vector<EntryKey>> repeated(owners_);
  parallel_for(owners_, [&](std::size_t owner) {
    for (std::size_t i = 0; i < round.size(); ++i) {
      const std::size_t begin = dealt_[i].begin[owner];
      set_bits(&dealt_[i].images[begin], &dealt_[i].neurons[begin], dealt_[i].begin[owner + 1] - begin,
               repeated[owner]);
    }
  });
  for (const auto& keys : repeated) repeated_.insert(repeated_.end(), keys.begin(), keys.end());
  return repeated_.empty();
}

void ImageBuilder::deal(const Entries& entries, Dealt& dealt) const {
  if (dealt.capacity < entries.capacity) {
    dealt.images = std::make_unique_for_overwrite<Index[]>(entries.capacity);
    dealt.neurons = std::make_unique_for_overwrite<Index[]>(entries.capacity);
    dealt.capacity = entries.capacity;
  }
  const auto owner = [mask = owners_ - 1](Index image) { return image >> kBlockBits & mask; };
  dealt.begin.assign(owners_ + 1, 0);
  for (std::size_t k = 0; k < entries.count; ++k) ++dealt.begin[owner(entries.first[k]) + 1];
  for (std::size_t i = 0; i < owners_; ++i) dealt.begin[i + 1] += dealt.begin[i];
  std::vector<std::size_t> next(dealt.begin.begin(), dealt.begin.end() - 1);
  for (std::size_t k = 0; k < entries.count; ++k) {
    const std::size_t slot = next[owner(entries.first[k])]++;
    dealt.images[slot] = entries.first[k];
    dealt.neurons[slot] = entries.second[k];
  }
}

void ImageBuilder::set_bits(const Index* images, const Index* neurons, std::size_t count,
                            std::vector<EntryKey>& repeated) {
  // In the official order (by neuron, then image) every entry hits a different cache line, which is prefetched some
  // entries ahead.
  constexpr std::size_t kAhead = 16;
  for (std::size_t k = 0; k < count; ++k) {
    if (k + kAhead < count)
      __builtin_prefetch(&words_[images[k + kAhead] * words_per_row_ + neurons[k + kAhead] / 64], 1);
    std::uint64_t& word = words_[images[k] * words_per_row_ + neurons[k] / 64];
    const std::uint64_t bit = std::uint64_t{1} << (neurons[k] % 64);
    if ((word & bit) != 0) repeated.push_back(entry_key(images[k], neurons[k]));
    word |= bit;
  }
}

void ImageBuilder::move_to_csr() {
  constexpr Index kImages = 1024;  // moved at a time
  csr_ = std::make_unique<CsrBuilder>(CsrBuilder::Row::first);
  const auto rows = static_cast<Index>(words_.size() / words_per_row_);
  const ImageSet bits{take_bits(rows)};
  std::vector<Entries> block(1);
  for (Index first = 0; first < rows; first += kImages) {
    const CsrMatrix part = bits.slice(first, std::min(kImages, rows - first)).to_csr();
    Entries& entries = block[0];
    entries.reserve(part.entries());
    entries.count = part.entries();
    for (Index row = 0; row < part.rows; ++row)
      std::fill_n(&entries.first[part.offsets[row]], part.degree(row), first + row);
    std::copy(part.indices.begin(), part.indices.end(), entries.second.get());
    std::fill_n(entries.values.get(), entries.count, 1.0F);
    csr_->add(block);
  }
}

BitMatrix ImageBuilder::take_bits(Index images) {
  BitMatrix bits{.rows = images, .cols = neurons_};
  words_.grow(images * words_per_row_);
  bits.words = words_.freeze();
  return bits;
}

ImageSet ImageBuilder::finish(std::optional<Index> images) {
  const Index rows = images.value_or(images_);
  if (csr_) {
    CsrMatrix matrix = csr_->finish(rows, neurons_);
    if (has_zero(matrix)) matrix = without_zeros(matrix);
    return make_image_set(std::move(matrix));
  }
  const std::size_t csr_bytes = nonzeros_ * sizeof(Index) + (std::size_t{rows} + 1) * sizeof(Offset);
  const std::size_t bit_bytes = rows * words_per_row_ * sizeof(std::uint64_t);
  // There may be far more empty images at the end than others; if CSR is the smaller form, they get no bits.
  if (bit_bytes < csr_bytes) return {take_bits(rows)};
  CsrMatrix matrix = ImageSet{take_bits(images_)}.to_csr();
  std::vector<Offset> offsets(matrix.offsets.begin(), matrix.offsets.end());
  offsets.resize(std::size_t{rows} + 1, offsets.back());
  matrix.offsets = Array<Offset>(std::move(offsets));
  matrix.rows = rows;
  return make_image_set(std::move(matrix));
}

}  // namespace spdnn
