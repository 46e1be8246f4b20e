#include "engines/cpu/cascade.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace spdnn::tiles {

namespace {

/// Moving lanes costs about as much per neuron as so many terms of its sum.
constexpr Offset kMoveCost = 8;
/// Equal images are looked for before this layer for the first time. A search costs a fifth of a layer of 32 terms.
constexpr Index kFirstSearch = 4;

Index station_after(Index offset) { return offset + std::max<Index>(1, std::bit_floor(offset) / 4); }

Index widest_output(const Plan& plan) {
  Index width = 0;
  for (const Layer& layer : plan.layers) width = std::max(width, layer.outputs());
  return width;
}

bool is_power_of_two(float weight) {
  int exponent = 0;
  return std::abs(std::frexp(weight, &exponent)) == 0.5F;
}

template <class T>
std::size_t tile_size(Index neurons) {
  return std::size_t{neurons} * kLanes<T>;
}

/// Calls work(lane) for each lane of the mask, lowest first.
template <class Work>
void for_each_lane(LaneMask lanes, Work work) {
  for (; lanes != 0; lanes &= lanes - 1) work(static_cast<Index>(std::countr_zero(lanes)));
}

}  // namespace

Phase::Phase(Index first_layer, Index limit, Index stations) : first(first_layer) {
  Index offset = 0;
  std::vector<Index> offsets{0};
  for (Index station = 0; station < stations && offset < limit - first; ++station) {
    offset = std::min(offset < 1 ? 1 : station_after(offset), limit - first);
    offsets.push_back(offset);
  }
  until = first + offset;
  is_station.assign(std::size_t{offset} + 1, false);
  for (const Index station : offsets) is_station[station] = true;
}

template <class T>
Cascade<T>::Cascade(Shared<T>& shared, Index stations)
    : shared_(shared), alive_(shared.plan.depth()), saturated_(std::size_t{shared.plan.depth()} + 1) {
  const std::size_t tile = tile_size<T>(widest_output(shared.plan));
  const std::size_t count = std::size_t{stations} + 2;
  memory_ = HostMemory<T>(count * tile + tile_size<T>(shared.plan.inputs()));
  std::fill_n(memory_.data(), memory_.size(), T{0});  // the thread that will use them takes the pages
  for (std::size_t i = 0; i < count; ++i) free_.push_back(memory_.data() + i * tile);
  input_ = memory_.data() + count * tile;
}

template <class T>
std::size_t Cascade<T>::bytes(const Plan& plan, Index stations) {
  return ((std::size_t{stations} + 2) * tile_size<T>(widest_output(plan)) + tile_size<T>(plan.inputs())) * sizeof(T);
}

template <class T>
void Cascade<T>::reset() {
  std::fill(alive_.begin(), alive_.end(), 0);
  std::fill(saturated_.begin(), saturated_.end(), 0);
}

template <class T>
void Cascade<T>::run(const Phase& phase, std::atomic<Index>& next, Index count) {
  phase_ = &phase;
  flushing_ = false;
  stored_.clear();
  free_slots_.clear();
  waiting_.assign(phase.is_station.size(), Tile{});
  for (Index i = next++; i < count; i = next++) {
    if (phase.first == 0)
      descend(first_tile(i), 0, true);
    else
      descend(stored_tile(shared_.store.occupied[i]), phase.first, false);
  }
  flush();
}

template <class T>
auto Cascade<T>::first_tile(Index number) -> Tile {
  const InputTiles& inputs = shared_.inputs;
  const Index first = number * kLanes<T>;
  const Index count = std::min(kLanes<T>, inputs.images().images() - first);
  Tile tile;
  for (Index lane = 0; lane < count; ++lane) tile.images[lane] = first + lane;
  tile.lanes = kAllLanes<T> >> (kLanes<T> - count);
  tile.next_search = kFirstSearch;
  if (inputs.are_bits()) {
    tile.bits = inputs.masks<T>(number, &tile.first_bit);
  } else {
    inputs.scatter<T>(number, input_);
    tile.data = input_;
  }
  return tile;
}

template <class T>
auto Cascade<T>::stored_tile(Index slot) -> Tile {
  Tile tile{shared_.store.rosters[slot]};
  tile.data = shared_.store.slot(slot);
  tile.slot = slot;
  return tile;
}

/// Runs the tile's layers until its images wait, are stored or are settled. `admitted`: the tile need not ask at the
/// station before `layer` again.
template <class T>
void Cascade<T>::descend(Tile tile, Index layer, bool admitted) {
  for (;; admitted = false) {
    if (tile.lanes == 0) return release(tile);
    if (layer == phase_->until) return emit(tile);
    if (!admitted && phase_->is_station[layer - phase_->first] && !admit(tile, layer)) return;
    step(tile, layer++);
  }
}

/// At a station: true when the tile goes on, false when its images wait (or turned out to be copies).
template <class T>
bool Cascade<T>::admit(Tile& tile, Index layer) {
  if (shared_.plan.passes.identical && layer >= tile.next_search) settle_equal(tile, layer);
  Tile& waiting = waiting_[layer - phase_->first];
  if (flushing_ ? waiting.lanes == 0 : !worth_waiting(tile, layer)) return true;
  if (waiting.lanes == 0) {
    waiting = tile;
    return false;
  }
  fill_up(waiting, tile, neurons_before(layer));
  if (waiting.lanes != kAllLanes<T>) {
    release(tile);
    return false;
  }
  std::swap(waiting, tile);
  if (waiting.lanes == 0) release(waiting);
  return true;
}

/// Has the tile wasted on empty lanes what a move would cost? Then it would waste more than that again, or nearly.
template <class T>
bool Cascade<T>::worth_waiting(const Tile& tile, Index layer) const {
  if (tile.lanes == kAllLanes<T>) return false;
  Offset waste = tile.waste;
  if (layer == phase_->first)
    waste +=
        static_cast<Offset>(std::popcount(~tile.lanes & kAllLanes<T>)) * shared_.plan.layers[layer].weights.entries();
  return waste >= kMoveCost * kLanes<T> * neurons_before(layer);
}

/// Moves as many images as fit from `source` to the empty lanes of `target`.
template <class T>
void Cascade<T>::fill_up(Tile& target, Tile& source, Index neurons) {
  std::array<std::uint8_t, kLanes<T>> from{};
  std::array<std::uint8_t, kLanes<T>> to{};
  Index count = 0;
  LaneMask empty = ~target.lanes & kAllLanes<T>;
  for (; empty != 0 && source.lanes != 0; ++count) {
    const auto source_lane = static_cast<unsigned>(std::countr_zero(source.lanes));
    const auto target_lane = static_cast<unsigned>(std::countr_zero(empty));
    const LaneMask source_bit = LaneMask{1} << source_lane;
    const LaneMask target_bit = LaneMask{1} << target_lane;
    target.images[target_lane] = source.images[source_lane];
    if ((source.shared & source_bit) != 0) target.shared |= target_bit;
    if ((source.unsure & source_bit) != 0) target.unsure |= target_bit;
    target.lanes |= target_bit;
    source.lanes &= ~source_bit;
    source.shared &= ~source_bit;
    source.unsure &= ~source_bit;
    empty &= empty - 1;
    from[count] = static_cast<std::uint8_t>(source_lane);
    to[count] = static_cast<std::uint8_t>(target_lane);
  }
  target.next_search = std::min(target.next_search, source.next_search);
  target.waste = 0;
  shared_.kernels.move_lanes(source.data, target.data, neurons, from.data(), to.data(), count);
}

template <class T>
void Cascade<T>::step(Tile& tile, Index layer) {
  const Plan& plan = shared_.plan;
  const Layer& l = plan.layers[layer];
  const CsrMatrix& weights = l.weights;
  T* output = free_.back();
  free_.pop_back();
  const LayerTask<T> task{.offsets = weights.offsets.data(),
                          .indices = weights.indices.data(),
                          .values = weights.uniform() ? nullptr : weights.values.data(),
                          .biases = l.bias.values.empty() ? nullptr : l.bias.values.data(),
                          .weight = static_cast<T>(weights.value),
                          .multiply_once = is_power_of_two(weights.value),
                          .bias = static_cast<T>(l.bias.uniform),
                          .cap = plan.cap ? static_cast<T>(*plan.cap) : std::numeric_limits<T>::infinity(),
                          .bias_everywhere = plan.bias_rule == BiasRule::everywhere,
                          .outputs = l.outputs(),
                          .tile = tile.data,
                          .bits = tile.bits,
                          .first_bit = tile.first_bit,
                          .output = output};
  const bool watch_cap = plan.passes.saturated && layer + 1 >= plan.saturated_from;
  const Watch watch = plan.passes.merge ? Watch::margins : watch_cap ? Watch::caps : Watch::zeros;
  LaneFacts<T> facts;
  shared_.kernels.layer[static_cast<std::size_t>(watch)](task, facts);
  release(tile);
  tile.data = output;
  tile.slot = kNone;
  tile.bits = nullptr;
  tile.waste += static_cast<Offset>(std::popcount(~tile.lanes & kAllLanes<T>)) * weights.entries();
  settle(tile, layer + 1, facts);
}

/// At the end of the phase: only full tiles are written, the others wait.
template <class T>
void Cascade<T>::emit(Tile tile) {
  if (shared_.plan.passes.identical && phase_->until >= tile.next_search) settle_equal(tile, phase_->until);
  if (tile.lanes == kAllLanes<T>) return write(tile);
  Tile& waiting = waiting_.back();
  if (waiting.lanes == 0) {
    waiting = tile;
    return;
  }
  fill_up(waiting, tile, neurons_before(phase_->until));
  if (waiting.lanes != kAllLanes<T>) return release(tile);
  write(waiting);
  waiting = tile;
  if (waiting.lanes == 0) release(waiting);
}

template <class T>
void Cascade<T>::write(Tile& tile) {
  Index slot = 0;
  if (free_slots_.empty()) {
    slot = shared_.store.next_unused++;
  } else {
    slot = free_slots_.back();
    free_slots_.pop_back();
  }
  std::memcpy(shared_.store.slot(slot), tile.data, tile_size<T>(neurons_before(phase_->until)) * sizeof(T));
  shared_.store.rosters[slot] = tile;
  stored_.push_back(slot);
  tile.lanes = 0;
  release(tile);
}

template <class T>
void Cascade<T>::release(Tile& tile) {
  if (tile.slot != kNone)
    free_slots_.push_back(tile.slot);
  else if (tile.data != nullptr && tile.data != input_)
    free_.push_back(tile.data);
  tile.data = nullptr;
  tile.slot = kNone;
}

/// No more tiles will come: those that wait go on, the earliest first, and take along those they meet.
template <class T>
void Cascade<T>::flush() {
  flushing_ = true;
  for (std::size_t offset = 0; offset + 1 < waiting_.size(); ++offset) {
    while (waiting_[offset].lanes != 0) {
      const Tile tile = waiting_[offset];
      waiting_[offset] = Tile{};
      descend(tile, phase_->first + static_cast<Index>(offset), true);
    }
  }
  if (waiting_.back().lanes != 0) write(waiting_.back());
}

template <class T>
std::int64_t Cascade<T>::images_in(const Tile& tile, LaneMask lanes) const {
  std::int64_t images = std::popcount(lanes);
  for_each_lane(lanes & tile.shared, [&](Index lane) { images += shared_.copies[tile.images[lane]] - 1; });
  return images;
}

template <class T>
Index Cascade<T>::neurons_before(Index layer) const {
  return layer == 0 ? shared_.plan.inputs() : shared_.plan.layers[layer - 1].outputs();
}

template <class T>
void Cascade<T>::settle(Tile& tile, Index layers_done, const LaneFacts<T>& facts) {
  const Plan& plan = shared_.plan;
  if (plan.passes.merge) return settle_merged(tile, layers_done, facts);
  const LaneMask zero = facts.zero & tile.lanes;
  alive_[layers_done - 1] += images_in(tile, tile.lanes & ~zero);
  const bool stays_zero = layers_done == plan.depth() || (plan.passes.dead && layers_done >= plan.dead_from);
  if (stays_zero) settle_lanes(tile, zero, Fate::Kind::dead, layers_done);
  if (plan.passes.saturated && layers_done >= plan.saturated_from)
    settle_lanes(tile, facts.at_cap & tile.lanes, Fate::Kind::saturated, layers_done);
}

/// With `merge`, rows are known up to error_bounds: an image is all zero, or not, or perhaps. One that may have been
/// all zero and then proves to be alive was alive before (zeros stay zeros behind dead_from); if it proves to be all
/// zero, or comes to the end, nobody knows since when, and the given order has to tell.
template <class T>
void Cascade<T>::settle_merged(Tile& tile, Index layers_done, const LaneFacts<T>& facts) {
  const Plan& plan = shared_.plan;
  const Layer& layer = plan.layers[layers_done - 1];
  const double bound = plan.error_bounds[layers_done - 1];
  const double cap = plan.cap.value_or(std::numeric_limits<double>::infinity());
  const bool zero_is_certain = layers_done >= plan.dead_from;
  const bool life_is_certain = plan.bias_rule == BiasRule::everywhere || layer.outputs() == 0 || layer.bias.max() <= 0;
  LaneMask dead = 0;
  LaneMask saturated = 0;
  LaneMask borderline = 0;
  for_each_lane(tile.lanes, [&](Index lane) {
    const LaneMask bit = LaneMask{1} << lane;
    const double highest = facts.highest[lane];
    if (zero_is_certain && highest <= -bound) {
      ((tile.unsure & bit) != 0 ? borderline : dead) |= bit;
    } else if (plan.passes.saturated && layers_done >= plan.saturated_from && (facts.at_cap & bit) != 0 &&
               facts.lowest[lane] >= cap + bound) {
      saturated |= bit;
    } else if (life_is_certain && highest > bound) {
      tile.unsure &= ~bit;
    } else {
      tile.unsure |= bit;
      if ((facts.zero & bit) != 0 || bound >= cap) borderline |= bit;
    }
  });
  if (layers_done == plan.depth()) borderline |= tile.unsure & ~dead & ~saturated;
  alive_[layers_done - 1] += images_in(tile, tile.lanes & ~dead & ~borderline);
  settle_lanes(tile, dead, Fate::Kind::dead, layers_done);
  settle_lanes(tile, saturated, Fate::Kind::saturated, layers_done);
  settle_lanes(tile, borderline, Fate::Kind::borderline, layers_done);
}

template <class T>
void Cascade<T>::settle_lanes(Tile& tile, LaneMask lanes, Fate::Kind kind, Index layers_done) {
  if (lanes == 0) return;
  if (kind == Fate::Kind::saturated) saturated_[layers_done] += images_in(tile, lanes);
  for_each_lane(lanes, [&](Index lane) {
    const Index image = tile.images[lane];
    shared_.fates[image].kind = kind;
    if (kind == Fate::Kind::borderline) shared_.borderline_at[image] = layers_done;
  });
  tile.lanes &= ~lanes;
  tile.shared &= ~lanes;
  tile.unsure &= ~lanes;
}

/// Makes copies of all images in the tile but the first of each group with equal rows. Rows are compared whole: equal
/// hashes only say where that is worth while. The search is repeated soon where it found something, else after as many
/// layers again, so that images that all differ lose a few searches to a thousand layers.
template <class T>
void Cascade<T>::settle_equal(Tile& tile, Index layers_done) {
  tile.next_search = std::max(2 * layers_done, kFirstSearch);
  if (std::popcount(tile.lanes) < 2) return;
  const Index neurons = neurons_before(layers_done);
  std::array<std::uint32_t, kLanes<T>> hashes{};
  shared_.kernels.hash_lanes(tile.data, neurons, hashes.data());
  const auto equal = [&](Index a, Index b) {
    const T* row = tile.data;
    for (Index neuron = 0; neuron < neurons; ++neuron, row += kLanes<T>)
      if (std::memcmp(row + a, row + b, sizeof(T)) != 0) return false;
    return true;
  };
  for_each_lane(tile.lanes, [&](Index lane) {
    const LaneMask bit = LaneMask{1} << lane;
    for_each_lane(tile.lanes & (bit - 1), [&](Index owner) {
      if ((tile.lanes & bit) == 0 || hashes[owner] != hashes[lane] || !equal(owner, lane)) return;
      const LaneMask owner_bit = LaneMask{1} << owner;
      shared_.fates[tile.images[lane]] = {Fate::Kind::same_as, tile.images[owner]};
      shared_.copies[tile.images[owner]] += shared_.copies[tile.images[lane]];
      tile.shared |= owner_bit;
      if ((tile.unsure & bit) != 0) tile.unsure |= owner_bit;
      tile.lanes &= ~bit;
      tile.shared &= ~bit;
      tile.unsure &= ~bit;
      tile.next_search = layers_done + 1;
    });
  });
}

template class Cascade<float>;
template class Cascade<double>;

}  // namespace spdnn::tiles
