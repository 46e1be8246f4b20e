#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <vector>

#include "engines/cuda/conv_generated/generated.hpp"
#include "engines/cuda/conv_generated/layer_code.hpp"
#include "engines/cuda/runtime/handle.hpp"

namespace spdnn::cuda {

/// A layer's kernels, loaded on the current device.
class LoadedLayer {
 public:
  LoadedLayer(const std::vector<std::vector<std::byte>>& code, std::size_t shared_bytes);

  const std::vector<cudaKernel_t>& kernels() const { return kernels_; }

 private:
  std::vector<Handle<cudaLibrary_t, cudaLibraryUnload>> libraries_;
  std::vector<cudaKernel_t> kernels_;
};

inline constexpr std::size_t kCounterStep = 32;  ///< so that no two are in a line of the cache

/// All kernels of a layer side by side, with their arguments: a graph, as more streams would wait for one another.
class LayerLaunch {
 public:
  /// `others`: the operands of additions. All are in images32, or halves. `drawn`: counters of the kernels, which are
  /// kCounterStep numbers apart.
  LayerLaunch(const LoadedLayer& layer, const DirectShape& shape, const GeneratedTiling& tiling, const float* x,
              const std::vector<const float*>& others, float* y, Index* drawn, Index multiprocessors);

  void run(cudaStream_t stream) const { check(cudaGraphLaunch(graph_, stream)); }

 private:
  GraphExec graph_;
};

}  // namespace spdnn::cuda
