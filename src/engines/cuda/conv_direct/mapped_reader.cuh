#pragma once

// Reads chunks by the device's copy engine (TMA), which leaves shared memory's pipe and the warps to the sums.
// From compute capability 9.0 on.

#include <cuda.h>

#include "engines/cuda/conv_direct/direct.cuh"

namespace spdnn::cuda {

class MappedReader {
 public:
  struct Source {
    CUtensorMap map;
  };

  __device__ MappedReader(const DirectArgs& args, const DirectPart& part, const Source& source, std::byte* memory)
      : args_(args), part_(part), map_(source.map), memory_(memory) {
    __shared__ std::uint64_t full[2];
    full_ = shared_address(full);
    if (threadIdx.x == 0) {
      for (Index stage = 0; stage < 2; ++stage)
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(full_ + 8 * stage) : "memory");
      asm volatile("fence.mbarrier_init.release.cluster; fence.proxy.async.shared::cta;" ::: "memory");
    }
    __syncthreads();
  }

  /// All warps are done with the chunk before the last one.
  __device__ void start(Index chunk) const {
    if (threadIdx.x != 0) return;
    const DirectTiling& tiling = args_.tiling;
    const Index* starts = reinterpret_cast<const Index*>(args_.weights) + part_.filters * tiling.chunks + chunk;
    const Index begin = __ldg(starts);
    const Index entries = __ldg(starts + 1) - begin;
    const std::uint32_t full = full_ + chunk % 2 * 8;
    const std::uint32_t to = shared_address(memory_ + chunk % 2 * args_.stage_bytes);
    const auto tile = static_cast<std::uint32_t>(tiling.tile_bytes());
    const auto left = static_cast<int>(part_.first[1] * args_.shape.stride[1] - args_.shape.pad[1]);
    const auto top = static_cast<int>(part_.first[0] * args_.shape.stride[0] - args_.shape.pad[0]);
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(full), "r"(tile + entries) : "memory");
    asm volatile(
        "cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], "
        "[%1, {%2, %3, %4, %5, %6}], [%7];" ::"r"(to),
        "l"(&map_), "r"(0), "r"(left), "r"(top), "r"(chunk * tiling.channels), "r"(part_.images), "r"(full)
        : "memory");
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to + tile),
        "l"(__cvta_generic_to_global(args_.weights + begin)), "r"(entries), "r"(full)
        : "memory");
  }

  __device__ void wait(Index chunk) const {
    std::uint32_t there = 0;
    while (there == 0)
      asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                   : "=r"(there)
                   : "r"(full_ + chunk % 2 * 8), "r"(chunk / 2 % 2)
                   : "memory");
  }

 private:
  const DirectArgs& args_;
  const DirectPart& part_;
  const CUtensorMap& map_;
  std::byte* memory_;
  std::uint32_t full_;
};

}  // namespace spdnn::cuda
