// cublas_dense: W and Y both dense, by cuBLAS: the dense baseline. If it is the fastest, sparsity did not pay.
//
// fp32: cublasSgemm in its default mode, which keeps TF32 and emulation off: the same arithmetic as the other engines'.
// tf32: the same on tensor cores, which round weights and activations to 11 significant bits as they read them;
// products are added in fp32. fp16: weights, activations and the sums before bias and cap are stored as halves;
// products are added in fp32 on tensor cores. Both may change categories: the report counts them.
//
// Each layer's weights are expanded into one dense matrix just before its product: that writes inputs x outputs
// numbers, with 2 x images operations for each, so the cost is small at a few thousand images; and every network runs
// whose largest layer fits.
//
// Bound: arithmetic, 2 x inputs x outputs x images operations per layer whatever the sparsity; in fp16, at a thousand
// neurons, equally the memory traffic of a layer's activations, which are written and read twice.

#include <cuda_fp16.h>

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "engines/cuda/dense/engine.hpp"
#include "engines/cuda/layers/half.hpp"
#include "engines/cuda/layers/stored.cuh"
#include "engines/cuda/runtime/launch.hpp"
#include "engines/overflow.hpp"
#include "engines/streamed.hpp"

namespace spdnn {

namespace {

using namespace cuda;  // NOLINT(google-build-using-namespace): this file is part of it

constexpr unsigned kBlock = 256;

/// One warp per output neuron. It accumulates, because inputs may repeat.
template <class Stored>
__global__ void expand_weights(DeviceLayer layer, Stored* dense) {
  const std::size_t row = (std::size_t{blockIdx.x} * blockDim.x + threadIdx.x) / kWarp;
  if (row >= layer.outputs) return;
  const auto output = static_cast<Index>(row);
  for (Offset k = layer.offset(output) + threadIdx.x % kWarp; k < layer.offset(output + 1); k += kWarp)
    atomicAdd(dense + row * layer.inputs + layer.index(k), to_stored<Stored>(layer.edge_value(k)));
}

/// The number of weights of the largest layer as a dense matrix.
std::size_t dense_size(const Plan& plan) {
  std::size_t size = 0;
  for (const Layer& layer : plan.layers) size = std::max(size, std::size_t{layer.inputs()} * layer.outputs());
  return size;
}

/// The operands of the products.
template <class Stored>
constexpr cudaDataType kStoredType = std::is_same_v<Stored, float> ? CUDA_R_32F : CUDA_R_16F;

template <class Stored>
class GemmProduct final : public DenseProduct<Stored> {
 public:
  GemmProduct(const Plan& plan, const EngineOptions& options, cudaStream_t stream)
      : stream_(stream),
        arithmetic_(options.precision == Precision::tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F),
        weights_(dense_size(plan), stream) {
    check(cublasCreate(context_.out()));
    check(cublasSetStream(context_, stream));
    check(cublasSetMathMode(context_, CUBLAS_DEFAULT_MATH));
  }

  Layout layout() const override { return Layout::by_image; }

  /// Loads cuBLAS's kernels, so that the first trial does not pay for it.
  void tune(const DeviceLayer& layer, Index images, Stored* y, Stored* z) override { multiply(layer, images, y, z); }

  /// Column-major, as cuBLAS has it: Z (outputs x images) = W' (outputs x inputs) Y (inputs x images).
  void multiply(const DeviceLayer& layer, Index images, const Stored* y, Stored* z) override {
    check(cudaMemsetAsync(weights_.data(), 0, std::size_t{layer.inputs} * layer.outputs * sizeof(Stored), stream_));
    expand_weights<<<blocks_for(std::size_t{layer.outputs} * kWarp, kBlock), kBlock, 0, stream_>>>(layer,
                                                                                                   weights_.data());
    check_launch();
    const float one = 1.0F;
    const float zero = 0.0F;
    const int inputs = narrow<int>(layer.inputs);
    const int outputs = narrow<int>(layer.outputs);
    constexpr cudaDataType kType = kStoredType<Stored>;
    check(cublasGemmEx(context_, CUBLAS_OP_T, CUBLAS_OP_N, outputs, narrow<int>(images), inputs, &one, weights_.data(),
                       kType, inputs, y, kType, inputs, &zero, z, kType, outputs, arithmetic_, CUBLAS_GEMM_DEFAULT));
  }

 private:
  cudaStream_t stream_;
  cublasComputeType_t arithmetic_;
  BlasContext context_;
  DeviceBuffer<Stored> weights_;
};

template <class Stored>
std::unique_ptr<DenseProduct<Stored>> make_product(const Plan& plan, const EngineOptions& options,
                                                   cudaStream_t stream) {
  return std::make_unique<GemmProduct<Stored>>(plan, options, stream);
}

/// With activations and weights as halves.
std::string reason_against_fp16(const Plan& plan, const EngineOptions& options) {
  if (std::string why_not = reason_against_halves(plan, "cublas_dense"); !why_not.empty()) return why_not;
  const auto fits = [](float weight) { return std::abs(weight) <= kLargestHalf; };
  for (const Layer& layer : plan.layers) {
    const CsrMatrix& weights = layer.weights;
    if (weights.uniform() ? !fits(weights.value) : !std::all_of(weights.values.begin(), weights.values.end(), fits))
      return "cublas_dense: a weight is beyond 65504, which fp16 does not hold";
  }
  return reason_not_to_watch(options, "cublas_dense");
}

/// Checks that the images are exact in half precision.
class HalfEngine final : public InspectableEngine {
 public:
  HalfEngine(const Plan& plan, const EngineOptions& options)
      : engine_(plan, options, LayerFormat{}, make_product<__half>) {}

  void load(const ImageSet& images) override {
    require_halves(images, "cublas_dense");
    engine_.load(images);
  }
  void reset() override { engine_.reset(); }
  Index advance(Index first, Index until) override { return engine_.advance(first, until); }
  Outcome outcome() override { return engine_.outcome(); }
  std::vector<double> activations() override { return engine_.activations(); }

 private:
  DenseEngine<__half> engine_;
};

template <class Stored>
std::size_t working_bytes(const Plan& plan, const BatchInfo& batch, const EngineOptions& options) {
  constexpr std::size_t kLibraryWorkspace = std::size_t{64} << 20U;
  return DenseEngine<Stored>::device_bytes(plan, LayerFormat{}, options, batch.images) +
         dense_size(plan) * sizeof(Stored) + kLibraryWorkspace;
}

}  // namespace

/// Below fp32, `auto` uses the baseline only if no other engine supports the plan.
Support support_cublas_dense(const Plan& plan, const BatchInfo& batch, const EngineOptions& options) {
  const bool halves = options.precision == Precision::fp16;
  std::string why_not = reason_not_to_stream(plan, "cublas_dense");
  if (why_not.empty() && options.precision == Precision::tf32 && plan.passes.merge)
    why_not = "cublas_dense: the error bounds of merge do not hold for tf32; leave one of the two out";
  if (why_not.empty() && halves) why_not = reason_against_fp16(plan, options);
  if (!why_not.empty()) return {.why_not = std::move(why_not)};
  return {.preference = options.precision == Precision::fp32 ? Preference::preferred : Preference::last_resort,
          .working_bytes =
              halves ? working_bytes<__half>(plan, batch, options) : working_bytes<float>(plan, batch, options)};
}

std::unique_ptr<Engine> make_cublas_dense(std::shared_ptr<const Plan> plan, const BatchInfo& /*batch*/,
                                          const EngineOptions& options) {
  if (options.precision == Precision::fp16) return std::make_unique<HalfEngine>(*plan, options);
  return std::make_unique<DenseEngine<float>>(*plan, options, LayerFormat{}, make_product<float>);
}

}  // namespace spdnn
