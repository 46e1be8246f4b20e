#pragma once

#include <optional>
#include <vector>

#include "engines/cuda/layers/equal_rows.hpp"
#include "engines/cuda/retire/image_rows.hpp"
#include "engines/cuda/retire/moving.hpp"
#include "engines/cuda/retire/row_kernels.hpp"
#include "engines/cuda/runtime/buffer.hpp"
#include "engines/engine.hpp"

namespace spdnn::cuda {

/// The rows' state on the device, as kernels take it.
struct RowState {
  const std::uint32_t* flags;
  const Index* images;
  Index* weights;
  std::uint8_t* states;
  std::uint8_t* keep;
  const Index* row_count;
  std::uint8_t* unsure;  ///< by image, with `merge`; otherwise null
  Index* overflow_at;    ///< by image, where overflow is watched; otherwise null
  Index rows;            ///< at least *row_count
};

/// The image of each row of an engine's activations, and the state of retired images. All of it is on the device:
/// retiring and compacting enqueue work and never wait; only kept_rows() and outcome() do.
///
/// After each layer: the engine writes flags(), calls retire(), and, to reduce the rows, moves row kept()[i] to row i
/// and calls compact(). Until then retired rows may still be computed: by the plan's certificates they do not change,
/// and nothing is counted twice.
///
/// If looks_for_duplicates() is true, between retire() and kept(): the engine writes identical().hashes(), calls
/// find_duplicates(), compares each row with its identical().heads(), and calls retire_duplicates().
class ActiveRows {
 public:
  struct Counters {                    ///< per layer, on the device
    unsigned long long live = 0;       ///< images active before it whose rows may be not all zero
    unsigned long long saturated = 0;  ///< of these, retired at the cap
    unsigned long long given_up = 0;   ///< images, not among these, that became borderline
  };

  /// `plan` must outlive it. `may_overflow`: flags report overflows for the outcome.
  ActiveRows(const Plan& plan, bool may_overflow, cudaStream_t stream);

  /// An engine that writes flags in tiles may write up to `padded` of them, where that is more than the images.
  void load(Index images, std::size_t padded = 0);
  /// Every image active and undecided, row i being image i.
  void reset();

  /// The host's upper bound on *row_count().
  Index rows() const { return rows_; }
  const Index* row_count() const { return counts_.data(); }         ///< device
  const Index* images() const { return images_[current_].data(); }  ///< device: the image of each row
  std::uint32_t* flags() const { return flags_[current_].data(); }  ///< device: one per row, kLives | kMayLive | ...

  /// Retires the rows by their flags before layer `layers_done` (0: the inputs).
  void retire(Index layers_done);
  /// Whether retire(layers_done) can retire rows.
  bool may_retire(Index layers_done) const;

  /// After every fourth layer: finding duplicates costs about as much as a layer.
  bool looks_for_duplicates(Index layers_done) const {
    return plan_.passes.identical && layers_done > 0 && layers_done % 4 == 0;
  }
  const IdenticalRows& identical() const { return identical_; }
  void find_duplicates() { identical_.find_heads(rows_, stream_); }
  /// Rows equal to their head become its duplicates.
  void retire_duplicates();
  /// All of that: `hash` writes the rows' hashes, `compare` compares each row with its head.
  template <class Hash, class Compare>
  void retire_duplicates(Hash hash, Compare compare) {
    hash(identical_.hashes());
    find_duplicates();
    compare(identical_.heads());
    retire_duplicates();
  }

  /// Lists the rows to keep, and returns their number. Waits for the stream.
  Index kept_rows();
  /// The same, if moving them pays.
  std::optional<Index> rows_worth_moving(RowTiles tiles = {});
  const Index* kept() const { return kept_.data(); }              ///< device: the list, ascending
  const Index* kept_count() const { return counts_.data() + 1; }  ///< device: its length
  /// Call after moving the kept rows to 0, 1, ...; `rows` is the host's upper bound on their number.
  void compact(Index rows);

  /// Waits. Call after retire(plan.depth()), or when no row is left.
  Outcome outcome();
  /// Waits: the states of all loaded images, and the image of each row.
  std::vector<ImageState> states() const;
  std::vector<Index> image_of_rows() const;
  /// Waits: the row of each loaded image, of `width` neurons each.
  ImageRows image_rows(Index width) const;
  /// Waits: `active`, the rows' activations of `width` neurons each, as those of all loaded images, row-major, retired
  /// images filled in, for Engine::activations().
  std::vector<double> fill_retired(Index width, const std::vector<double>& active) const;

  static std::size_t device_bytes(const Plan& plan, Index images);

 private:
  RowState state() const;

  const Plan& plan_;
  bool may_overflow_;
  cudaStream_t stream_;
  Index loaded_ = 0;
  Index rows_ = 0;
  std::size_t current_ = 0;
  DeviceBuffer<Index> images_[2];
  DeviceBuffer<std::uint32_t> flags_[2];
  DeviceBuffer<Index> weights_[2];     ///< of each row: the images that it represents
  DeviceBuffer<std::uint8_t> states_;  ///< ImageState::Kind, by image
  DeviceBuffer<std::uint8_t> unsure_;  ///< by image, with `merge`: whether it may be all zero in the given order
  DeviceBuffer<Index> overflow_at_;    ///< by image, the first layer with a sum that is not finite
  DeviceBuffer<Index> duplicate_of_;   ///< by image
  IdenticalRows identical_;
  DeviceBuffer<std::uint8_t> keep_;
  DeviceBuffer<Index> kept_;
  DeviceBuffer<Index> counts_;  ///< rows, rows to keep
  DeviceBuffer<Counters> counters_;
  DeviceBuffer<std::byte> scratch_;
  PinnedBuffer<Index> host_count_;
};

}  // namespace spdnn::cuda
