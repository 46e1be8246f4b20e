#pragma once

#include "engines/cuda/resident_kernel.cuh"
#include "engines/cuda/resident_program.cuh"

namespace spdnn::cuda::resident {

/// The kernels of a shape. Each takes a compiler several seconds: a source file a way of storing activations.
template <class Stored, Index M, Index V, Index Threads, Index Rounds, Index Blocks, Index Ahead>
constexpr Instance instance() {
  using Uniform = Config<Stored, M, V, Threads, Rounds, Blocks, Ahead, false>;
  using Values = Config<Stored, M, V, Threads, Rounds, Blocks, Ahead, true>;
  return {{Uniform::kShape, Blocks}, resident_kernel<Uniform>, resident_kernel<Values>, sizeof(typename Uniform::Bits)};
}

}  // namespace spdnn::cuda::resident
