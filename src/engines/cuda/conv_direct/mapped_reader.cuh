#pragma once

// Reads chunks by the device's copy engine (TMA), which leaves shared memory's pipe and the warps to the sums.
// From compute capability 9.0 on.

#include <cuda.h>

#include "engines/cuda/conv_direct/steps.cuh"

namespace spdnn::cuda {

class MappedReader {
 public:
  struct Source {
    CUtensorMap map;
  };

  __device__ MappedReader(const DirectArgs& args, const Source& source, std::byte* memory)
      : args_(args), map_(source.map), memory_(memory), steps_(steps_of_block(args)) {
    __shared__ std::uint64_t full[2];
    full_ = shared_address(full);
    if (threadIdx.x == 0) {
      for (Index place = 0; place < 2; ++place)
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(full_ + 8 * place) : "memory");
      asm volatile("fence.mbarrier_init.release.cluster; fence.proxy.async.shared::cta;" ::: "memory");
    }
    __syncthreads();
  }

  /// By the first thread.
  __device__ void start(Index step) const {
    if (threadIdx.x != 0 || step >= steps_) return;
    const DirectCopy copy(args_, step);
    const std::uint32_t full = full_ + step % 2 * 8;
    const std::uint32_t to = shared_address(memory_ + step % 2 * args_.stage_bytes);
    const auto tile = static_cast<std::uint32_t>(args_.tiling.tile_bytes());
    const auto left = static_cast<int>(copy.item.first[1] * args_.shape.stride[1] - args_.shape.pad[1]);
    const auto top = static_cast<int>(copy.item.first[0] * args_.shape.stride[0] - args_.shape.pad[0]);
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(full), "r"(tile + copy.part_bytes)
                 : "memory");
    asm volatile(
        "cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], "
        "[%1, {%2, %3, %4, %5, %6}], [%7];" ::"r"(to),
        "l"(&map_), "r"(0), "r"(left), "r"(top), "r"(copy.chunk * args_.tiling.channels), "r"(copy.item.images),
        "r"(full)
        : "memory");
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to + tile),
        "l"(__cvta_generic_to_global(args_.weights + copy.part_begin)), "r"(copy.part_bytes), "r"(full)
        : "memory");
  }
  __device__ void wait(Index step) const {
    std::uint32_t there = 0;
    while (there == 0)
      asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                   : "=r"(there)
                   : "r"(full_ + step % 2 * 8), "r"(step / 2 % 2)
                   : "memory");
  }

  /// The warp is done with a step, and the one after the next may take its place.
  __device__ void release(Index step) const {
    __syncthreads();
    start(step + 2);
  }

 private:
  const DirectArgs& args_;
  const CUtensorMap& map_;
  std::byte* memory_;
  Index steps_;
  std::uint32_t full_;  ///< barriers of both places
};

}  // namespace spdnn::cuda
