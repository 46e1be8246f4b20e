// cublas_dense: W and Y both dense, by cublasSgemm: the control. Where it is the fastest, sparsity did not pay.
//
// fp32 throughout, so that it competes on the same arithmetic: the default mode keeps TF32 and emulation off. Each
// layer's weights are expanded into one dense matrix just before its product: that writes inputs x outputs x 4 bytes,
// against 2 x images operations for each of them, which is little at a few thousand images, and it lets every network
// run whose largest layer fits.
//
// Bound: fp32 arithmetic, 2 x inputs x outputs x images operations per layer whatever the sparsity.

#include <algorithm>

#include "engines/cuda/dense/engine.hpp"
#include "engines/cuda/runtime/launch.hpp"
#include "engines/streamed.hpp"

namespace spdnn {

namespace {

using namespace cuda;  // NOLINT(google-build-using-namespace): this file is part of it

constexpr unsigned kBlock = 256;

/// One warp per output neuron. It adds, because inputs may repeat.
__global__ void expand_weights(DeviceLayer layer, float* dense) {
  const std::size_t row = (std::size_t{blockIdx.x} * blockDim.x + threadIdx.x) / kWarp;
  if (row >= layer.outputs) return;
  const auto output = static_cast<Index>(row);
  for (Offset k = layer.offset(output) + threadIdx.x % kWarp; k < layer.offset(output + 1); k += kWarp)
    atomicAdd(dense + row * layer.inputs + layer.index(k), layer.edge_value(k));
}

/// Weights of the largest layer held densely.
std::size_t dense_size(const Plan& plan) {
  std::size_t size = 0;
  for (const Layer& layer : plan.layers) size = std::max(size, std::size_t{layer.inputs()} * layer.outputs());
  return size;
}

class GemmProduct final : public DenseProduct {
 public:
  GemmProduct(const Plan& plan, cudaStream_t stream) : stream_(stream), weights_(dense_size(plan), stream) {
    check(cublasCreate(context_.out()));
    check(cublasSetStream(context_, stream));
    check(cublasSetMathMode(context_, CUBLAS_DEFAULT_MATH));
  }

  Layout layout() const override { return Layout::by_image; }

  /// Loads cuBLAS's kernels, so that the first trial does not pay for it.
  void tune(const DeviceLayer& layer, Index images, float* y, float* z) override { multiply(layer, images, y, z); }

  /// Column-major, as cuBLAS has it: Z (outputs x images) = W' (outputs x inputs) Y (inputs x images).
  void multiply(const DeviceLayer& layer, Index images, const float* y, float* z) override {
    check(cudaMemsetAsync(weights_.data(), 0, std::size_t{layer.inputs} * layer.outputs * sizeof(float), stream_));
    expand_weights<<<blocks_for(std::size_t{layer.outputs} * kWarp, kBlock), kBlock, 0, stream_>>>(layer,
                                                                                                   weights_.data());
    check_launch();
    const float one = 1.0F;
    const float zero = 0.0F;
    const int inputs = narrow<int>(layer.inputs);
    const int outputs = narrow<int>(layer.outputs);
    check(cublasSgemm(context_, CUBLAS_OP_T, CUBLAS_OP_N, outputs, narrow<int>(images), inputs, &one, weights_.data(),
                      inputs, y, inputs, &zero, z, outputs));
  }

 private:
  cudaStream_t stream_;
  BlasContext context_;
  DeviceBuffer<float> weights_;
};

std::unique_ptr<DenseProduct> make_product(const Plan& plan, cudaStream_t stream) {
  return std::make_unique<GemmProduct>(plan, stream);
}

}  // namespace

Support support_cublas_dense(const Plan& plan, const BatchInfo& batch, const EngineOptions& options) {
  constexpr std::size_t kLibraryWorkspace = std::size_t{64} << 20U;
  if (std::string why_not = reason_not_to_stream(plan, "cublas_dense"); !why_not.empty())
    return {.why_not = std::move(why_not)};
  return {.working_bytes = DenseEngine::device_bytes(plan, LayerFormat{}, options, batch.images) +
                           dense_size(plan) * sizeof(float) + kLibraryWorkspace};
}

std::unique_ptr<Engine> make_cublas_dense(std::shared_ptr<const Plan> plan, const BatchInfo& /*batch*/,
                                          const EngineOptions& options) {
  return std::make_unique<DenseEngine>(*plan, options, LayerFormat{}, make_product);
}

}  // namespace spdnn
