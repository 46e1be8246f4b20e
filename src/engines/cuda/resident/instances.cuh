#pragma once

#include "engines/cuda/resident/device_layout.cuh"
#include "engines/cuda/resident/kernel.cuh"

namespace spdnn::cuda::resident {

/// The kernels of a shape; those for uneven layouts where `Uneven`. Each takes a compiler several seconds: a source
/// file a way of storing activations.
template <class Stored, Index M, Index V, Index Threads, Index Rounds, Index Blocks, Index Ahead, bool Uneven = false>
constexpr Instance instance() {
  using Uniform = Config<Stored, M, V, Threads, Rounds, Blocks, Ahead, false, false>;
  using Values = Config<Stored, M, V, Threads, Rounds, Blocks, Ahead, true, false>;
  Instance made{{Uniform::kShape, Blocks},
                {resident_kernel<Uniform>, resident_kernel<Values>},
                {},
                sizeof(typename Uniform::Bits)};
  if constexpr (Uneven)
    made.uneven = {resident_kernel<Config<Stored, M, V, Threads, Rounds, Blocks, Ahead, false, true>>,
                   resident_kernel<Config<Stored, M, V, Threads, Rounds, Blocks, Ahead, true, true>>};
  return made;
}

}  // namespace spdnn::cuda::resident
