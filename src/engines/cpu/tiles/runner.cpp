#include "engines/cpu/tiles/runner.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

namespace spdnn::tiles {

namespace {

/// The cost of moving lanes per neuron, in units of one term of its sum.
constexpr Offset kMoveCost = 8;

Index next_compaction_point(Index offset) {
  return offset == 0 ? 1 : offset + std::max<Index>(1, std::bit_floor(offset) / 4);
}

template <class T>
std::size_t tile_size(Index neurons) {
  return std::size_t{neurons} * kLanes<T>;
}

Index neurons_before(const Plan& plan, Index layer) { return layer == 0 ? plan.inputs() : plan.outputs(layer - 1); }

template <class T>
Offset empty_lanes(const LaneMap<T>& lane_map) {
  return static_cast<Offset>(std::popcount(~lane_map.lanes & kAllLanes<T>));
}

template <class T>
LayerTask<T> task_of(const Plan& plan, const Layer& layer, bool multiply_once) {
  const CsrMatrix& weights = layer.weights;
  const Bias& bias = layer.bias;
  return {.offsets = weights.offsets.data(),
          .indices = weights.indices.data(),
          .values = weights.uniform() ? nullptr : weights.values.data(),
          .biases = bias.values.empty() ? nullptr : bias.values.data(),
          .weight = static_cast<T>(weights.value),
          .multiply_once = multiply_once,
          .bias = static_cast<T>(bias.uniform),
          .cap = plan.cap ? static_cast<T>(*plan.cap) : std::numeric_limits<T>::infinity(),
          .bias_everywhere = plan.bias_rule == BiasRule::everywhere,
          .outputs = weights.rows,
          .tile = nullptr,
          .bits = nullptr,
          .output = nullptr};
}

}  // namespace

Phase::Phase(Index first_layer, Index limit, Index compaction_points) : first(first_layer), until(first_layer) {
  is_compaction_point.assign(std::size_t{limit - first} + 1, false);
  is_compaction_point[0] = true;
  for (Index compaction_point = 0; compaction_point < compaction_points && until < limit; ++compaction_point) {
    until = std::min(first + next_compaction_point(until - first), limit);
    is_compaction_point[until - first] = true;
  }
}

template <class T>
TileRunner<T>::TileRunner(Shared<T>& shared, Index compaction_points)
    : shared_(shared), retirer_(shared.plan, shared.kernels, shared.states) {
  const std::size_t tile = shared.store.stride;
  const std::size_t count = std::size_t{compaction_points} + 2;  // and the input and output of a step
  memory_ = HostMemory<T>(count * tile);
  for (std::size_t i = count; i-- > 0;) free_.push_back(memory_.data() + i * tile);
}

template <class T>
std::size_t TileRunner<T>::bytes(const Plan& plan, Index compaction_points) {
  const std::size_t tiles = ((std::size_t{compaction_points} + 2) * plan.max_outputs() + plan.inputs()) * kLaneBytes;
  const std::size_t waiting = (std::size_t{Phase(0, plan.depth(), compaction_points).until} + 1) * sizeof(Tile);
  const std::size_t counts = 3 * sizeof(std::int64_t) * std::size_t{plan.depth()};  // the retirer's, by layer
  return tiles + waiting + counts;
}

template <class T>
void TileRunner<T>::load() {
  const std::size_t size = shared_.inputs.template tile_bytes<T>();
  if (input_.size() != size) input_ = HostMemory<std::byte>(size);
}

template <class T>
void TileRunner<T>::run(const Phase& phase, const std::function<Index()>& next, Index count) {
  phase_ = &phase;
  flushing_ = false;
  stored_.clear();
  free_slots_.clear();
  waiting_.assign(std::size_t{phase.until - phase.first} + 1, Tile{});
  for (Index i = next(); i < count; i = next()) {
    if (phase.first == 0)
      run_tile(input_tile(i), 0, true);
    else
      run_tile(stored_tile(shared_.store.occupied[i]), phase.first, false);
  }
  flush();
}

template <class T>
auto TileRunner<T>::input_tile(Index number) -> Tile {
  const InputTiles& inputs = shared_.inputs;
  const Index first = number * kLanes<T>;
  const Index count = std::min(kLanes<T>, inputs.images().images() - first);
  Tile tile;
  for (Index lane = 0; lane < count; ++lane) {
    tile.images[lane] = first + lane;
    tile.lanes |= lane_bit(lane);
  }
  if (inputs.are_bits()) {
    auto* masks = reinterpret_cast<LaneMask*>(input_.data());
    inputs.transpose(shared_.kernels, first, masks);
    tile.bits = masks;
  } else {
    tile.data = reinterpret_cast<T*>(input_.data());
    inputs.scatter<T>(first, tile.data);
  }
  return tile;
}

template <class T>
auto TileRunner<T>::stored_tile(Index slot) const -> Tile {
  Tile tile{shared_.store.lane_maps[slot]};
  tile.data = shared_.store.slot(slot);
  tile.slot = slot;
  return tile;
}

/// Runs the tile's layers until its images wait, are stored or have retired. `compacted`: skips the compaction point
/// before `layer`.
template <class T>
void TileRunner<T>::run_tile(Tile tile, Index layer, bool compacted) {
  for (;; compacted = false) {
    if (tile.lanes == 0) return release(tile);
    if (layer == phase_->until) return finish_phase(tile);
    if (!compacted && phase_->is_compaction_point[layer - phase_->first] && !compact(tile, layer)) return;
    step(tile, layer++);
  }
}

/// At a compaction point: returns true when the tile goes on, false when its images wait.
template <class T>
bool TileRunner<T>::compact(Tile& tile, Index layer) {
  const Index neurons = neurons_before(shared_.plan, layer);
  retirer_.retire_duplicates(tile, tile.data, neurons, layer);
  Tile& waiting = waiting_[layer - phase_->first];
  if (flushing_ ? waiting.lanes == 0 : !worth_compacting(tile, layer)) return true;
  if (waiting.lanes == 0) {
    waiting = tile;
    return false;
  }
  fill_empty_lanes(waiting, tile, neurons);
  if (waiting.lanes == kAllLanes<T>) std::swap(waiting, tile);
  if (waiting.lanes == 0) release(waiting);
  if (tile.lanes == kAllLanes<T>) return true;
  release(tile);
  return false;
}

/// Whether the tile has wasted the cost of a move on empty lanes; without a move it would waste about as much again.
template <class T>
bool TileRunner<T>::worth_compacting(const Tile& tile, Index layer) const {
  if (tile.lanes == kAllLanes<T>) return false;
  return tile.waste >= kMoveCost * kLanes<T> * neurons_before(shared_.plan, layer);
}

/// Moves as many images as fit from `source` to the empty lanes of `target`.
template <class T>
void TileRunner<T>::fill_empty_lanes(Tile& target, Tile& source, Index neurons) {
  std::array<std::uint8_t, kLanes<T>> from{};
  std::array<std::uint8_t, kLanes<T>> to{};
  Index count = 0;
  for (LaneMask empty = ~target.lanes & kAllLanes<T>; empty != 0 && source.lanes != 0; empty &= empty - 1, ++count) {
    const auto from_lane = static_cast<Index>(std::countr_zero(source.lanes));
    const auto to_lane = static_cast<Index>(std::countr_zero(empty));
    target.take(to_lane, source, from_lane);
    from[count] = static_cast<std::uint8_t>(from_lane);
    to[count] = static_cast<std::uint8_t>(to_lane);
  }
  target.next_search = std::min(target.next_search, source.next_search);
  target.waste = 0;
  shared_.kernels.move_lanes(source.data, target.data, neurons, from.data(), to.data(), count);
}

template <class T>
void TileRunner<T>::step(Tile& tile, Index layer) {
  shared_.cancellation.check();
  const Layer& source = shared_.layers[layer - phase_->first];
  LayerTask<T> task = task_of<T>(shared_.plan, source, shared_.multiply_once[layer]);
  task.tile = tile.data;
  task.bits = tile.bits;
  task.output = free_.back();
  free_.pop_back();
  LaneFacts<T> facts;
  shared_.kernels.layer[static_cast<std::size_t>(retirer_.watch(layer + 1))](task, facts);
  release(tile);
  tile.data = task.output;
  tile.bits = nullptr;
  tile.waste += empty_lanes(tile) * source.weights.entries();
  retirer_.retire(tile, layer + 1, facts);
}

/// At the end of a phase whose rows are kept: full tiles are written, the others wait.
template <class T>
void TileRunner<T>::finish_phase(Tile tile) {
  if (shared_.store.lane_maps.empty()) return release(tile);
  const Index neurons = neurons_before(shared_.plan, phase_->until);
  retirer_.retire_duplicates(tile, tile.data, neurons, phase_->until);
  Tile& waiting = waiting_.back();
  if (tile.lanes != kAllLanes<T>) {
    if (waiting.lanes == 0) {
      waiting = tile;
      return;
    }
    fill_empty_lanes(waiting, tile, neurons);
    if (waiting.lanes != kAllLanes<T>) return release(tile);
    std::swap(waiting, tile);
    if (waiting.lanes == 0) release(waiting);
  }
  write(tile);
}

template <class T>
void TileRunner<T>::write(Tile& tile) {
  Index slot = 0;
  if (free_slots_.empty()) {
    slot = shared_.store.next_unused++;
  } else {
    slot = free_slots_.back();
    free_slots_.pop_back();
  }
  std::memcpy(shared_.store.slot(slot), tile.data,
              tile_size<T>(neurons_before(shared_.plan, phase_->until)) * sizeof(T));
  shared_.store.lane_maps[slot] = tile;
  stored_.push_back(slot);
  release(tile);
}

template <class T>
void TileRunner<T>::release(Tile& tile) {
  if (tile.slot != kNoSlot)
    free_slots_.push_back(tile.slot);
  else if (tile.data != nullptr && tile.data != reinterpret_cast<T*>(input_.data()))
    free_.push_back(tile.data);
  tile.data = nullptr;
  tile.slot = kNoSlot;
}

/// After the last input: waiting tiles continue, the earliest first, and merge with those at later compaction points.
template <class T>
void TileRunner<T>::flush() {
  flushing_ = true;
  for (Index layer = phase_->first; layer < phase_->until; ++layer) {
    Tile& waiting = waiting_[layer - phase_->first];
    while (waiting.lanes != 0) {
      const Tile tile = waiting;
      waiting = Tile{};
      run_tile(tile, layer, true);
    }
  }
  if (waiting_.back().lanes != 0) write(waiting_.back());
}

template class TileRunner<float>;
template class TileRunner<double>;

}  // namespace spdnn::tiles
