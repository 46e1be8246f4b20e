#pragma once

#include <array>
#include <atomic>
#include <vector>

#include "engines/cpu/host_memory.hpp"
#include "engines/cpu/input_tiles.hpp"
#include "engines/cpu/tile_kernels.hpp"
#include "spdnn/engine.hpp"
#include "spdnn/plan.hpp"

namespace spdnn::tiles {

inline constexpr Index kNone = ~Index{0};

/// Which images are in the lanes of a tile, and what is known of them.
template <class T>
struct Roster {
  std::array<Index, kLanes<T>> images{};
  LaneMask lanes = 0;     ///< lanes with an undecided image; the others hold leftovers
  LaneMask shared = 0;    ///< of these, the images that stand for copies as well
  LaneMask unsure = 0;    ///< with `merge`: images that may be all zero in the given order of summation
  Index next_search = 0;  ///< the layer before which to look for equal images next
  Offset waste = 0;       ///< sums computed for empty lanes since the last move, in edges
};

/// Where undecided images stay between phases: one buffer of tiles, each slot with its roster. A thread that has read a
/// slot may write another tile into it, so one buffer is enough.
template <class T>
struct Store {
  HostMemory<T> memory;
  std::size_t stride = 0;  ///< values to a slot
  std::vector<Roster<T>> rosters;
  std::vector<Index> occupied;     ///< slots, in no order
  std::atomic<Index> next_unused;  ///< slots from here on were never written since reset
  T* slot(Index number) const { return memory.data() + number * stride; }
};

/// What all threads of an engine share. Fates and counts are written without locks: an undecided image is in one tile,
/// and a tile with one thread.
template <class T>
struct Shared {
  const Plan& plan;
  const Kernels<T>& kernels;
  InputTiles inputs;
  Store<T> store;
  std::vector<Fate> fates;           ///< of the loaded images
  std::vector<Index> copies;         ///< how many images each undecided image stands for, itself included
  std::vector<Index> borderline_at;  ///< with `merge`: the layers behind which a borderline image was given up
};

/// Layers first .. until-1, and where in between images are moved together.
struct Phase {
  Index first = 0;
  Index until = 0;
  std::vector<bool> is_station;  ///< by layer - first, until - first included

  /// Stations lie before each of the first eight layers, then four to an octave: images die early. At most `stations`
  /// lie in a phase, as each may keep a tile.
  Phase(Index first_layer, Index limit, Index stations);
};

/// One thread's way of running a phase: it takes a tile of images through all layers before it touches the next, so
/// that activations stay in its cache and weights are read once a tile. Where images have left a tile and its empty
/// lanes cost more than moving the others would, the tile waits at the next station until later ones fill it up.
template <class T>
class Cascade {
 public:
  Cascade(Shared<T>& shared, Index stations);
  /// Zeroes the counts.
  void reset();
  /// Takes inputs (tiles of images, or positions in `occupied`) from the counter until there are none below `count`.
  void run(const Phase& phase, std::atomic<Index>& next, Index count);

  const std::vector<Index>& stored() const { return stored_; }  ///< slots written by the last run
  /// Images not all zero after each layer, those settled as saturated before it not counted.
  const std::vector<std::int64_t>& alive() const { return alive_; }
  const std::vector<std::int64_t>& saturated() const { return saturated_; }  ///< images settled after each layer

  /// Bytes of one thread's tiles.
  static std::size_t bytes(const Plan& plan, Index stations);

 private:
  struct Tile : Roster<T> {
    T* data = nullptr;               ///< null while the images are bits
    Index slot = kNone;              ///< where `data` lies in the store
    const LaneMask* bits = nullptr;  ///< the images before layer 0
    unsigned first_bit = 0;
  };

  Tile first_tile(Index number);
  Tile stored_tile(Index slot);
  void descend(Tile tile, Index layer, bool admitted);
  bool admit(Tile& tile, Index layer);
  bool worth_waiting(const Tile& tile, Index layer) const;
  void fill_up(Tile& target, Tile& source, Index neurons);
  void step(Tile& tile, Index layer);
  void settle(Tile& tile, Index layers_done, const LaneFacts<T>& facts);
  void settle_merged(Tile& tile, Index layers_done, const LaneFacts<T>& facts);
  void settle_lanes(Tile& tile, LaneMask lanes, Fate::Kind kind, Index layers_done);
  void settle_equal(Tile& tile, Index layers_done);
  void emit(Tile tile);
  void write(Tile& tile);
  void release(Tile& tile);
  void flush();
  std::int64_t images_in(const Tile& tile, LaneMask lanes) const;
  Index neurons_before(Index layer) const;

  Shared<T>& shared_;
  HostMemory<T> memory_;
  T* input_ = nullptr;    ///< inputs x kLanes<T>, for images that are no bits
  std::vector<T*> free_;  ///< tiles of memory_ not in use
  std::vector<Index> free_slots_;
  std::vector<Index> stored_;
  std::vector<Tile> waiting_;  ///< by layer - first
  std::vector<std::int64_t> alive_;
  std::vector<std::int64_t> saturated_;
  const Phase* phase_ = nullptr;
  bool flushing_ = false;
};

}  // namespace spdnn::tiles
