#pragma once

// The host's arithmetic of a run: how shared memory is divided, what the kernels are told, and which launches a run
// takes. It is compiled without CUDA: the engine calls it, and so do the tests that run the kernels on the CPU.

#include <cstddef>
#include <vector>

#include "engines/cuda/cascade/types.hpp"

namespace spdnn::cuda::cascade {

/// How the shared memory of a block of cascade_kernel is divided.
struct SharedLayout {
  Index columns = 0;
  Index regions = 0;  ///< 0 where the widest layer does not fit
  Index region_floats = 0;

  std::size_t bytes() const { return sizeof(Shared) + std::size_t{regions} * region_floats * sizeof(float); }
};

/// Floats per row of `width` neurons where rows are read four floats at a time.
constexpr Index padded_width(Index width) { return (width + 3) / 4 * 4; }

/// The division for layers of up to `width` neurons in blocks of `block_bytes`.
SharedLayout divide_shared_memory(Index width, std::size_t block_bytes);

/// Images per counting block, or 0 where not even one fits into `block_bytes`.
Index counting_tile(CountingArgs counting, std::size_t block_bytes);

/// The kernels' arguments as far as the plan decides them. Pointers are to the vectors of `program` and `first`, for
/// which an engine puts copies in device memory. The caller fills in the images, the counts and the tile.
ProgramView view_of(const CascadeProgram& program, const Plan& plan, const SharedLayout& layout);
CountingArgs counting_of(const CountedLayer& first, const Plan& plan);
FrontView view_of(const Front& front, const Plan& plan, const ProgramView& program);

/// The layer with which the second launch begins; the depth where one launch runs them all.
Index second_launch_layer(const CascadeProgram& program);

/// What the state of a run begins with.
struct Counters {
  Index next[2];              ///< LaunchArgs::next, by launch
  Index between;              ///< survivors of the first launch
  Index left;                 ///< survivors of the last one
  Index counted;              ///< LaunchArgs::counted
  unsigned long long listed;  ///< DuplicateSearch::listed; in the higher half, finished blocks of the last launch
  Index duplicates;           ///< DuplicateSearch::duplicates
  Index runs;                 ///< LaunchArgs::runs
};

/// Where the parts of a run's state lie, in bytes from its beginning, which is on a 16-byte bound. It is zero when the
/// first run begins. When a run ends, what precedes `search_at` is copied to the host, of the tallies only those of
/// counted layers; then all but the tables and the number of runs is cleared.
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

/// What the launches of a run read and write, beside the program.
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
