#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "io/networks/text/csr_builder.hpp"
#include "io/networks/text/growing_array.hpp"
#include "io/networks/text/tsv_entries.hpp"
#include "spdnn/images.hpp"

namespace spdnn {

/// Builds an image set from entries (image, neuron, value) in any order. While all values are 1, each entry sets a bit
/// in its image's row, so memory is that of the bits in any order. The first other value, or bits that would take far
/// more memory than the text, moves everything to a CsrBuilder. No two threads write to one row: the entries of a round
/// are first distributed by blocks of images (8 bytes per entry, in the cache).
class ImageBuilder {
 public:
  ImageBuilder(Index neurons, std::size_t expected_text_bytes);

  /// Returns false if an entry occurred twice; reading can stop then.
  bool add(std::span<const Entries> round);
  /// Builds the set with the given number of images, or with as many as the largest id. Entries of value 0 are dropped.
  ImageSet finish(std::optional<Index> images);
  /// The entries given more than once; complete after add() has returned false, or after finish().
  const std::vector<EntryKey>& repeated() const { return csr_ ? csr_->repeated() : repeated_; }

 private:
  /// The entries of a piece, grouped by the thread that sets their bits.
  struct Dealt {
    std::unique_ptr<Index[]> images;
    std::unique_ptr<Index[]> neurons;
    std::size_t capacity = 0;
    std::vector<std::size_t> begin;
  };
  bool fits_bits(std::span<const Entries> round) const;
  void deal(const Entries& entries, Dealt& dealt) const;
  void set_bits(const Index* images, const Index* neurons, std::size_t count, std::vector<EntryKey>& repeated);
  void move_to_csr();
  BitMatrix take_bits(Index images);

  Index neurons_;
  std::size_t words_per_row_;
  std::size_t most_bit_bytes_;
  std::size_t owners_;  ///< a power of two
  Index images_ = 0;    ///< largest id so far
  Offset nonzeros_ = 0;
  GrowingArray<std::uint64_t> words_;
  std::vector<Dealt> dealt_;
  std::vector<EntryKey> repeated_;
  std::unique_ptr<CsrBuilder> csr_;  ///< set once bits are given up
};

}  // namespace spdnn
