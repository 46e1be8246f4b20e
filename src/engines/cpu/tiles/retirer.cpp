#include "engines/cpu/tiles/retirer.hpp"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "engines/overflow.hpp"

namespace spdnn::tiles {

namespace {

/// The first search for equal images precedes this layer.
constexpr Index kFirstSearch = 4;

template <class T>
bool equal_lanes(const T* tile, Index neurons, Index a, Index b) {
  using Pattern = std::conditional_t<sizeof(T) == sizeof(std::uint32_t), std::uint32_t, std::uint64_t>;
  for (Index neuron = 0; neuron < neurons; ++neuron, tile += kLanes<T>)
    if (std::bit_cast<Pattern>(tile[a]) != std::bit_cast<Pattern>(tile[b])) return false;
  return true;
}

}  // namespace

void ImageStates::reset(Index images, bool merge, bool may_overflow) {
  states.assign(images, ImageState{});
  multiplicity.assign(images, 1);
  borderline_at.assign(merge ? images : 0, 0);
  overflow_at.assign(may_overflow ? images : 0, kNoOverflow);
}

Index ImageStates::owner_of(Index image) const {
  while (states[image].kind == ImageState::Kind::duplicate) image = states[image].duplicate_of;
  return image;
}

template <class T>
Retirer<T>::Retirer(const Plan& plan, const Kernels<T>& kernels, ImageStates& states)
    : plan_(plan),
      kernels_(kernels),
      states_(states),
      alive_(plan.depth()),
      active_(plan.depth()),
      saturated_(std::size_t{plan.depth()} + 1) {}

template <class T>
void Retirer<T>::reset() {
  std::fill(alive_.begin(), alive_.end(), 0);
  std::fill(active_.begin(), active_.end(), 0);
  std::fill(saturated_.begin(), saturated_.end(), 0);
}

template <class T>
Watch Retirer<T>::watch(Index layers_done) const {
  if (!states_.overflow_at.empty()) return Watch::all;
  if (plan_.passes.merge) return Watch::margins;
  return caps_stay(layers_done) ? Watch::caps : Watch::zeros;
}

template <class T>
bool Retirer<T>::caps_stay(Index layers_done) const {
  return plan_.passes.saturated && layers_done >= plan_.certificates.saturated_from;
}

template <class T>
std::int64_t Retirer<T>::images_in(const LaneMap<T>& lane_map, LaneMask lanes) const {
  std::int64_t images = std::popcount(lanes);
  for_each_lane(lanes & lane_map.representatives,
                [&](Index lane) { images += states_.multiplicity[lane_map.images[lane]] - 1; });
  return images;
}

template <class T>
void Retirer<T>::retire(LaneMap<T>& lane_map, Index layers_done, const LaneFacts<T>& facts) {
  if (layers_done > 1) active_[layers_done - 2] += std::popcount(lane_map.lanes);
  note_overflow(lane_map, layers_done, facts.overflowed & lane_map.lanes & ~lane_map.overflowed);
  if (plan_.passes.merge) return retire_merged(lane_map, layers_done, facts);
  const LaneMask zero = facts.zero & lane_map.lanes;
  alive_[layers_done - 1] += images_in(lane_map, lane_map.lanes & ~zero);
  if (layers_done == plan_.depth() || (plan_.passes.dead && layers_done >= plan_.certificates.dead_from))
    leave(lane_map, zero, ImageState::Kind::dead, layers_done);
  if (caps_stay(layers_done)) leave(lane_map, facts.at_cap & lane_map.lanes, ImageState::Kind::saturated, layers_done);
}

template <class T>
void Retirer<T>::note_overflow(LaneMap<T>& lane_map, Index layers_done, LaneMask overflowed) {
  for_each_lane(overflowed, [&](Index lane) { states_.overflow_at[lane_map.images[lane]] = layers_done - 1; });
  lane_map.overflowed |= overflowed;
}

/// With `merge`, rows are known up to error_bounds: an image is all zero, or alive, or undecided. If an undecided image
/// later proves to be alive, it was alive before, as zeros stay zeros; if it proves to be all zero, or reaches the last
/// layer, the layer of its death is unknown, and a run in the given order decides. An image also becomes borderline if
/// the bound is too large to prove anything.
template <class T>
void Retirer<T>::retire_merged(LaneMap<T>& lane_map, Index layers_done, const LaneFacts<T>& facts) {
  const Layer& layer = plan_.layers[layers_done - 1];
  const double bound = plan_.fallback->error_bounds[layers_done - 1];
  const double cap = plan_.cap.value_or(std::numeric_limits<double>::infinity());
  const bool zeros_stay = layers_done >= plan_.certificates.dead_from;
  // By the rule non_zeros, a sum of zero gets no bias: a positive one does not prove that the image is alive.
  const bool positive_is_alive =
      plan_.bias_rule == BiasRule::everywhere || layer.outputs() == 0 || layer.bias.max() <= 0;
  LaneMask dead = 0;
  LaneMask saturated = 0;
  LaneMask borderline = 0;
  for_each_lane(lane_map.lanes, [&](Index lane) {
    const LaneMask bit = lane_bit(lane);
    const double highest = facts.highest[lane];
    if (zeros_stay && highest <= -bound) {
      ((lane_map.unsure & bit) != 0 ? borderline : dead) |= bit;
    } else if (caps_stay(layers_done) && (facts.at_cap & bit) != 0 && facts.lowest[lane] >= cap + bound) {
      saturated |= bit;
    } else if (positive_is_alive && highest > bound) {
      lane_map.unsure &= ~bit;
    } else {
      lane_map.unsure |= bit;
      if ((facts.zero & bit) != 0 || bound >= cap || layers_done == plan_.depth()) borderline |= bit;
    }
  });
  alive_[layers_done - 1] += images_in(lane_map, lane_map.lanes & ~dead & ~borderline);
  leave(lane_map, dead, ImageState::Kind::dead, layers_done);
  leave(lane_map, saturated, ImageState::Kind::saturated, layers_done);
  leave(lane_map, borderline, ImageState::Kind::borderline, layers_done);
}

template <class T>
void Retirer<T>::leave(LaneMap<T>& lane_map, LaneMask lanes, ImageState::Kind kind, Index layers_done) {
  if (lanes == 0) return;
  if (kind == ImageState::Kind::saturated) saturated_[layers_done] += images_in(lane_map, lanes);
  for_each_lane(lanes, [&](Index lane) {
    const Index image = lane_map.images[lane];
    states_.states[image].kind = kind;
    if (kind == ImageState::Kind::borderline) states_.borderline_at[image] = layers_done;
  });
  lane_map.leave(lanes);
}

template <class T>
void Retirer<T>::retire_duplicates(LaneMap<T>& lane_map, const T* tile, Index neurons, Index layers_done) {
  if (!plan_.passes.identical || layers_done < std::max(lane_map.next_search, kFirstSearch)) return;
  lane_map.next_search = 2 * layers_done;
  const LaneMask searched = lane_map.lanes & ~lane_map.overflowed;
  if (std::popcount(searched) < 2) return;
  std::array<std::uint32_t, kLanes<T>> hashes{};
  kernels_.hash_lanes(tile, neurons, hashes.data());
  for_each_lane(searched, [&](Index lane) {
    const LaneMask alike = (lane_map.unsure & lane_bit(lane)) != 0 ? lane_map.unsure : ~lane_map.unsure;
    for (LaneMask before = searched & lane_map.lanes & alike & (lane_bit(lane) - 1); before != 0;
         before &= before - 1) {
      const auto owner = static_cast<Index>(std::countr_zero(before));
      if (hashes[owner] != hashes[lane] || !equal_lanes(tile, neurons, owner, lane)) continue;
      become_duplicate(lane_map, lane, owner);
      lane_map.next_search = layers_done + 1;
      return;
    }
  });
}

template <class T>
void Retirer<T>::become_duplicate(LaneMap<T>& lane_map, Index lane, Index owner) {
  const Index image = lane_map.images[lane];
  const Index owner_image = lane_map.images[owner];
  states_.states[image] = {ImageState::Kind::duplicate, owner_image};
  states_.multiplicity[owner_image] += states_.multiplicity[image];
  lane_map.representatives |= lane_bit(owner);
  lane_map.leave(lane_bit(lane));
}

template class Retirer<float>;
template class Retirer<double>;

}  // namespace spdnn::tiles
