#pragma once

#include <atomic>
#include <functional>
#include <vector>

#include "core/system/host_memory.hpp"
#include "core/threads/cancellation.hpp"
#include "core/types/plan.hpp"
#include "engines/cpu/tiles/inputs.hpp"
#include "engines/cpu/tiles/kernels.hpp"
#include "engines/cpu/tiles/retirer.hpp"

namespace spdnn::tiles {

inline constexpr Index kNoSlot = ~Index{0};

/// Stores undecided images between phases: a buffer of tiles, and a lane map for each slot. Exists only with several
/// phases; only slots of undecided images are touched. A thread that has read a slot may write another tile into it, so
/// one buffer suffices.
template <class T>
struct Store {
  HostMemory<T> memory;
  std::size_t stride = 0;             ///< values per slot
  std::vector<LaneMap<T>> lane_maps;  ///< one per slot; empty where rows are not kept
  std::vector<Index> occupied;        ///< slots, in no order
  std::atomic<Index> next_unused;     ///< slots from here on were never written since reset
  T* slot(Index number) const { return memory.data() + number * stride; }
};

/// The state shared by all threads of an engine.
template <class T>
struct Shared {
  const Plan& plan;
  const Kernels<T>& kernels;
  std::vector<Layer> layers;  ///< of the phase; the arrays are the plan's, unless they are streamed
  InputTiles inputs;
  Store<T> store;
  ImageStates states;
  std::vector<bool> multiply_once;  ///< by layer; see common_factor.hpp
  Cancellation cancellation;
};

/// Layers first .. until-1, and where in between images are moved together.
struct Phase {
  Index first = 0;
  Index until = 0;
  std::vector<bool> is_compaction_point;  ///< by layer - first

  /// Compaction points precede each of the first 8 layers, then 4 per doubling, because images die early. At each, one
  /// tile may wait. The phase ends before it would have more than `compaction_points` of them.
  Phase(Index first_layer, Index limit, Index compaction_points);
};

/// Runs a phase on one thread: each tile of images goes through all layers before the next, so that activations stay in
/// cache and weights are read once per tile. When the empty lanes of retired images cost more than moving the others,
/// the tile waits at the next compaction point until later tiles fill it.
template <class T>
class TileRunner {
 public:
  TileRunner(Shared<T>& shared, Index compaction_points);
  /// Allocates the first layer's inputs for the loaded images.
  void load();
  /// Runs the inputs (tiles of images, or positions in `occupied`) that `next` gives, until one is not below `count`.
  void run(const Phase& phase, const std::function<Index()>& next, Index count);

  Retirer<T>& retirer() { return retirer_; }
  const std::vector<Index>& stored() const { return stored_; }  ///< slots written by the last run

  /// Bytes of one thread: its tiles, and its counters for each layer.
  static std::size_t bytes(const Plan& plan, Index compaction_points);

 private:
  struct Tile : LaneMap<T> {
    T* data = nullptr;               ///< null while the images are bits
    Index slot = kNoSlot;            ///< where `data` lies in the store
    const LaneMask* bits = nullptr;  ///< the images before layer 0
  };

  Tile input_tile(Index number);
  Tile stored_tile(Index slot) const;
  void run_tile(Tile tile, Index layer, bool compacted);
  bool compact(Tile& tile, Index layer);
  bool worth_compacting(const Tile& tile, Index layer) const;
  void fill_empty_lanes(Tile& target, Tile& source, Index neurons);
  void step(Tile& tile, Index layer);
  void finish_phase(Tile tile);
  void write(Tile& tile);
  void release(Tile& tile);
  void flush();

  Shared<T>& shared_;
  Retirer<T> retirer_;
  HostMemory<T> memory_;
  HostMemory<std::byte> input_;  ///< one tile of the first layer's inputs, as bits or as numbers
  std::vector<T*> free_;         ///< tiles of memory_ not in use
  std::vector<Index> free_slots_;
  std::vector<Index> stored_;
  std::vector<Tile> waiting_;  ///< by layer - first
  const Phase* phase_ = nullptr;
  bool flushing_ = false;
};

}  // namespace spdnn::tiles
