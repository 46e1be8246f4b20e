#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "core/types/plan.hpp"
#include "engines/cpu/tiles/kernels.hpp"
#include "engines/engine.hpp"

namespace spdnn::tiles {

/// Calls work(lane) for each lane of the mask, lowest first.
template <class Work>
void for_each_lane(LaneMask lanes, Work work) {
  for (; lanes != 0; lanes &= lanes - 1) work(static_cast<Index>(std::countr_zero(lanes)));
}
inline LaneMask lane_bit(Index lane) { return LaneMask{1} << lane; }

/// The images in the lanes of a tile, and their states.
template <class T>
struct LaneMap {
  std::array<Index, kLanes<T>> images{};
  LaneMask lanes = 0;            ///< lanes with an undecided image; the contents of others are obsolete
  LaneMask representatives = 0;  ///< of these, the images that represent duplicates
  LaneMask unsure = 0;           ///< with `merge`: images that may be all zero in the given order
  LaneMask overflowed = 0;       ///< images with a sum, in this layer or before, that was not finite
  Index next_search = 0;         ///< the layer before which the next search for equal images is due
  Offset waste = 0;              ///< terms summed for empty lanes since the last move

  /// Moves the image in lane `from` of another map into the empty lane `to`.
  void take(Index to, LaneMap& other, Index from) {
    images[to] = other.images[from];
    lanes |= lane_bit(to);
    representatives |= (other.representatives >> from & 1U) << to;
    unsure |= (other.unsure >> from & 1U) << to;
    overflowed |= (other.overflowed >> from & 1U) << to;
    other.leave(lane_bit(from));
  }
  void leave(LaneMask leaving) {
    lanes &= ~leaving;
    representatives &= ~leaving;
    unsure &= ~leaving;
    overflowed &= ~leaving;
  }
};

/// The state of each loaded image. Written without locks: an undecided image is in one tile, a tile with one
/// thread.
struct ImageStates {
  std::vector<ImageState> states;
  std::vector<Index> multiplicity;   ///< how many images each undecided image represents, itself included
  std::vector<Index> borderline_at;  ///< with `merge`: the layer after which an image became borderline
  std::vector<Index> overflow_at;    ///< if overflow is watched: each image's first layer with it

  void reset(Index images, bool merge, bool may_overflow = false);
  Index owner_of(Index image) const;  ///< the image at the end of the chain of duplicates
};

/// Decides, for one thread, the states of a tile's images after a layer, and counts them.
template <class T>
class Retirer {
 public:
  Retirer(const Plan& plan, const Kernels<T>& kernels, ImageStates& states);
  void reset();

  /// The facts that the layer that completes `layers_done` must collect.
  Watch watch(Index layers_done) const;
  /// Retires images that are all zero or all at the cap, if a certificate holds.
  void retire(LaneMap<T>& lane_map, Index layers_done, const LaneFacts<T>& facts);
  /// With `identical`, if a search is due: of each group of images with equal rows, all but the first become
  /// duplicates. Excludes images whose sums have overflowed, and pairs of which one is undecided: a duplicate and its
  /// owner must have the same result, whichever of them is computed. Rows of equal hash are compared in full. After a
  /// successful search the next is due soon, otherwise the interval doubles, so that over a thousand layers, images
  /// that all differ cost a few searches of a fifth of a layer of 32 terms each.
  void retire_duplicates(LaneMap<T>& lane_map, const T* tile, Index neurons, Index layers_done);

  /// Images not all zero after each layer, without those that retired as saturated before it.
  const std::vector<std::int64_t>& alive() const { return alive_; }
  /// Images that the layer after each computed; 0 after the last.
  const std::vector<std::int64_t>& active() const { return active_; }
  /// Images retired as saturated, by layers done.
  const std::vector<std::int64_t>& saturated() const { return saturated_; }

 private:
  bool caps_stay(Index layers_done) const;
  void note_overflow(LaneMap<T>& lane_map, Index layers_done, LaneMask overflowed);
  void retire_merged(LaneMap<T>& lane_map, Index layers_done, const LaneFacts<T>& facts);
  void leave(LaneMap<T>& lane_map, LaneMask lanes, ImageState::Kind kind, Index layers_done);
  void become_duplicate(LaneMap<T>& lane_map, Index lane, Index owner);
  std::int64_t images_in(const LaneMap<T>& lane_map, LaneMask lanes) const;

  const Plan& plan_;
  const Kernels<T>& kernels_;
  ImageStates& states_;
  std::vector<std::int64_t> alive_;
  std::vector<std::int64_t> active_;
  std::vector<std::int64_t> saturated_;
};

}  // namespace spdnn::tiles
