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
  LaneMask lanes = 0;            ///< lanes with an undecided image; the others hold leftovers
  LaneMask representatives = 0;  ///< of these, the images that stand for duplicates as well
  LaneMask unsure = 0;           ///< with `merge`: images that may be all zero in the given order of summation
  LaneMask overflowed = 0;       ///< images with a sum, in this layer or before, that was not finite
  Index next_search = 0;         ///< the layer before which to look for equal images next
  Offset waste = 0;              ///< terms summed for empty lanes since the last move

  /// Takes over the image in lane `from` of another map into the empty lane `to`.
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
  std::vector<Index> multiplicity;   ///< how many images each undecided image stands for, itself included
  std::vector<Index> borderline_at;  ///< with `merge`: the layers after which a borderline image was given up

  std::vector<Index> overflow_at;  ///< where overflow is looked for: each image's first layer with it

  void reset(Index images, bool merge, bool may_overflow = false);
  Index owner_of(Index image) const;  ///< the image at the end of the chain of duplicates
};

/// Decides, for one thread, the states of a tile's images after a layer, and counts them.
template <class T>
class Retirer {
 public:
  Retirer(const Plan& plan, const Kernels<T>& kernels, ImageStates& states);
  void reset();

  /// What the layer that completes `layers_done` has to watch.
  Watch watch(Index layers_done) const;
  /// Retires images that are all zero or all at the cap, as far as the certificates allow.
  void retire(LaneMap<T>& lane_map, Index layers_done, const LaneFacts<T>& facts);
  /// With `identical`, where a search is due: makes all images but the first of each group with equal rows duplicates.
  /// Images whose sums have overflowed are left out, and so are pairs of which one is unsure: a duplicate and its owner
  /// must come to the same end, whichever of them is carried on. Rows are compared whole; equal hashes only say where
  /// that is worthwhile. A search is followed by another soon where it found something, else after as many layers
  /// again, so that images that all differ lose a few searches, of a fifth of a layer of 32 terms each, to a thousand
  /// layers.
  void retire_duplicates(LaneMap<T>& lane_map, const T* tile, Index neurons, Index layers_done);

  /// Images not all zero after each layer, less those that retired as saturated before it.
  const std::vector<std::int64_t>& alive() const { return alive_; }
  /// Images that the layer after each computed; nothing after the last.
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
