#pragma once

// The host's arithmetic of a run: the division of shared memory, the kernels' arguments, and the launches. It is
// compiled without CUDA: the engine calls it, and so do the tests that run the kernels on the CPU.

#include <cstddef>
#include <vector>

#include "engines/cuda/cascade/types.hpp"
#include "spdnn/images.hpp"

namespace spdnn::cuda::cascade {

/// The division of a block's shared memory in cascade_kernel.
struct SharedLayout {
  Index columns = 0;
  Index regions = 0;  ///< 0 where the widest layer does not fit
  Index region_floats = 0;

  std::size_t bytes() const { return sizeof(Shared) + std::size_t{regions} * region_floats * sizeof(float); }
};

/// Floats per row of `width` neurons, if rows are read four floats at a time.
constexpr Index padded_width(Index width) { return (width + 3) / 4 * 4; }

/// The division for layers of up to `width` neurons in blocks of `block_bytes`.
SharedLayout divide_shared_memory(Index width, std::size_t block_bytes);

/// Images per counting block, or 0 if not even one fits into `block_bytes`.
Index counting_tile(CountingArgs counting, std::size_t block_bytes);

/// The kernels' arguments that depend on the plan alone. Pointers are to the vectors of `program` and `first`, which an
/// engine copies to device memory. The caller fills in the images, the counts and the tile.
ProgramView view_of(const CascadeProgram& program, const Plan& plan, const SharedLayout& layout);
CountingArgs counting_of(const CountedLayer& first, const Plan& plan);
FrontView view_of(const Front& front, const Plan& plan, const ProgramView& program);
FilterView view_of(const FrontFilter& filter);

/// The share of pixels that are 1, in a sample of the images.
double lit_share(const BitMatrix& images);

/// The first layer of the second launch; the depth if one launch runs all layers.
Index second_launch_layer(const CascadeProgram& program);

/// The beginning of a run's state.
struct Counters {
  Index next[2];              ///< LaunchArgs::next, by launch
  Index between;              ///< survivors of the first launch
  Index left;                 ///< survivors of the last one
  Index kept;                 ///< KeptImages::count
  Index counted;              ///< LaunchArgs::counted
  unsigned long long listed;  ///< DuplicateSearch::listed; in the higher half, finished blocks of the last launch
  Index duplicates;           ///< DuplicateSearch::duplicates
  Index runs;                 ///< LaunchArgs::runs
};

/// The offsets of the parts of a run's state in bytes. The state is aligned to 16 bytes, and zero when the first run
/// begins. At the end of a run, the part before `search_at` is copied to the host, with the tallies of counted layers
/// only; then everything except the tables and the number of runs is cleared.
struct StateLayout {
  StateLayout() = default;
  /// `zero_bytes` and `table_bytes`: of DuplicateSearch::zero_at and of its tables.
  StateLayout(Index images, Index depth, std::size_t zero_bytes, std::size_t table_bytes);

  Counters& counters(std::byte* state) const { return *reinterpret_cast<Counters*>(state); }
  std::uint32_t* categories(std::byte* state) const { return reinterpret_cast<std::uint32_t*>(state + categories_at); }
  LayerTally* tallies(std::byte* state) const { return reinterpret_cast<LayerTally*>(state + tallies_at); }

  std::size_t categories_at = sizeof(Counters);
  std::size_t tallies_at = 0;
  std::size_t search_at = 0;  ///< DuplicateSearch::zero_at
  std::size_t tables_at = 0;  ///< DuplicateSearch::tables
  std::size_t bytes = 0;
};

/// The memory that the launches of a run read and write, besides the program.
struct RunMemory {
  std::byte* state = nullptr;
  StateLayout layout;
  uint4* results = nullptr;  ///< the host's copy of the state, with room up to `search_at`
  const std::uint8_t* counts = nullptr;
  std::size_t count_stride = 0;
  Survivors between{};       ///< from the first launch to the second; its count is in the state
  DuplicateSearch search{};  ///< empty where the pass `identical` is off
};

/// The launches that run layers 0 .. until-1 on `images` images: one, or two of which the second begins with layer
/// `second`. Images that are still active after the last go to `left`, whose count is in the state.
std::vector<LaunchArgs> launches_of(const RunMemory& memory, Index images, Index second, Index until, Survivors left);

}  // namespace spdnn::cuda::cascade
