#pragma once

#include <cstddef>
#include <string>

#include "core/types/plan.hpp"
#include "engines/engine.hpp"
#include "spdnn/network.hpp"

namespace spdnn {

/// Bytes of an inference, by purpose. The given layers are released once the plan is made (unless verifying or
/// comparing needs them), so the peak is the largest of reading, planning and running, each with the images: packed
/// ones are there from the start.
struct MemoryEstimate {
  std::size_t program = 0;   ///< code, libraries, stacks
  std::size_t reading = 0;   ///< beside the layers while they are read: the readers' buffers
  std::size_t network = 0;   ///< as given
  std::size_t given = 0;     ///< given layers in memory at a time: `network`, unless they are planned as they are read
  std::size_t planning = 0;  ///< beside the given layers while the plan is made, that included
  std::size_t plan = 0;      ///< stored layers and maps, without arrays shared with the network
  std::size_t shared = 0;    ///< the network's storage that the plan keeps alive
  std::size_t images = 0;    ///< as bits
  std::size_t engine = 0;    ///< working set on the variant's device, for one batch
  Index batch = 0;           ///< images at a time
  Device device = Device::cpu;

  /// The most that given layers, readers and planner take at one time.
  std::size_t before_running() const;
  std::size_t host_peak() const;
};

/// The most memory that planning takes beside the network: places and stored offsets of all neurons, and the search for
/// twins in the layers at work.
std::size_t planning_bytes(const Network& network);

/// DeviceError if network and planning_bytes() are more than `budget`.
void require_room_to_plan(const Network& network, std::size_t budget);

/// `path`: the network's file; empty: generated. `images` are those of one process.
MemoryEstimate estimate_memory(const std::string& path, const Network& network, const Plan& plan,
                               const Variant& variant, const EngineOptions& options, Index images);

/// Bytes with all images of a rank in one batch, the most that is of use, and with one image at a time.
struct MemoryRange {
  std::size_t most = 0;
  std::size_t least = 0;
};

/// The memory of a job's ranks; ranks of a node share the plan.
struct RanksEstimate {
  MemoryRange rank;        ///< of the host, the plan included; of ranks other than the first
  MemoryRange first_node;  ///< all ranks on the node of rank 0, which reads and plans the network
  MemoryRange node;        ///< all ranks on another node
  MemoryRange device;      ///< of a rank on its CUDA device; 0 for an engine on the CPU
};

/// `one` is that of a rank, and `engine` that of its engine: batch_bytes().
RanksEstimate estimate_on_ranks(const MemoryEstimate& one, const MemoryRange& engine, int ranks, int ranks_per_node);

}  // namespace spdnn
