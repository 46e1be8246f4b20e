#include "engines/cuda/conv_generated/launch.hpp"

#include <algorithm>

#include "engines/cuda/conv_direct/input_map.hpp"
#include "engines/cuda/runtime/check.hpp"

namespace spdnn::cuda {

LoadedLayer::LoadedLayer(const std::vector<std::vector<std::byte>>& code, std::size_t shared_bytes) {
  int device = 0;
  check(cudaGetDevice(&device));
  for (const std::vector<std::byte>& one : code) {
    check(cudaLibraryLoadData(libraries_.emplace_back().out(), one.data(), nullptr, nullptr, 0, nullptr, nullptr, 0));
    check(cudaLibraryGetKernel(&kernels_.emplace_back(), libraries_.back(), "convolve"));
    check(cudaKernelSetAttributeForDevice(kernels_.back(), cudaFuncAttributeMaxDynamicSharedMemorySize,
                                          static_cast<int>(shared_bytes), device));
  }
}

LayerLaunch::LayerLaunch(const LoadedLayer& layer, const DirectShape& shape, const GeneratedTiling& tiling,
                         const float* x, const std::vector<const float*>& others, float* y, Index* drawn,
                         Index multiprocessors) {
  CUtensorMap map = input_map(shape, tiling.channels, tiling.read, tiling.steps, x);
  Index tiles = tiling.tiles(shape) * shape.blocks;
  std::vector<const float*> addends = others;
  std::vector<void*> arguments{&map, static_cast<void*>(&y), &tiles, static_cast<void*>(&drawn)};
  for (const float*& addend : addends) arguments.push_back(static_cast<void*>(&addend));
  Graph graph;
  check(cudaGraphCreate(graph.out(), 0));
  const auto kernels = static_cast<Index>(layer.kernels().size());
  for (Index i = 0; i < kernels; ++i, drawn += kCounterStep) {
    const Index own = tiling.blocks_stay ? multiprocessors * (i + 1) / kernels - multiprocessors * i / kernels : tiles;
    cudaKernelNodeParams node{};
    node.func = reinterpret_cast<void*>(layer.kernels()[i]);
    node.gridDim = dim3(std::clamp<Index>(own, 1, tiles));
    node.blockDim = dim3(tiling.threads());
    node.sharedMemBytes = static_cast<unsigned>(tiling.shared_bytes());
    node.kernelParams = arguments.data();
    cudaGraphNode_t added = nullptr;
    check(cudaGraphAddKernelNode(&added, graph, nullptr, 0, &node));
  }
  check(cudaGraphInstantiate(graph_.out(), graph, 0));
}

}  // namespace spdnn::cuda
