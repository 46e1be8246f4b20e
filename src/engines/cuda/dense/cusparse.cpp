// cusparse_spmm: W sparse (CSR by output neuron), Y dense, by cusparseSpMM: the vendor's baseline.
//
// Z = W Y with images as columns of Y, so that cuSPARSE supports both layouts of the activations: by image is
// column-major, by neuron row-major. Which layout and which algorithm is fastest depends on the card, the degrees and
// the number of images: all are timed at the first load() on the largest layer, and the fastest is kept.
// cusparseSpMM_preprocess is not used: it would need a workspace for each layer. Every algorithm has its own order of
// summation, so different choices may differ in the last bit.
//
// Cost: at least 8 bytes per edge and column tile, and 8 bytes per activation; activate() costs 8 more. Bound: memory
// bandwidth.

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <mutex>
#include <tuple>
#include <vector>

#include "engines/cuda/dense/engine.hpp"
#include "engines/cuda/layers/library_plan.hpp"
#include "engines/cuda/runtime/timing.hpp"

namespace spdnn {

namespace {

using namespace cuda;  // NOLINT(google-build-using-namespace): this file is part of it

constexpr LayerFormat kFormat{.indices16 = false, .values = true};

struct Choice {
  Layout layout;
  cusparseSpMMAlg_t algorithm;
};

constexpr std::array kChoices{
    Choice{Layout::by_neuron, CUSPARSE_SPMM_CSR_ALG2}, Choice{Layout::by_neuron, CUSPARSE_SPMM_CSR_ALG1},
    Choice{Layout::by_neuron, CUSPARSE_SPMM_CSR_ALG3}, Choice{Layout::by_image, CUSPARSE_SPMM_CSR_ALG1},
    Choice{Layout::by_image, CUSPARSE_SPMM_CSR_ALG3},  Choice{Layout::by_image, CUSPARSE_SPMM_CSR_ALG2},
};

class SpmmProduct final : public DenseProduct<float> {
 public:
  explicit SpmmProduct(cudaStream_t stream) : stream_(stream) {
    check(cusparseCreate(context_.out()));
    check(cusparseSetStream(context_, stream));
  }

  Layout layout() const override { return choice_.layout; }

  /// The fastest choice, timed once per problem and process, so that its engines all add in the same order.
  void tune(const DeviceLayer& layer, Index images, float* y, float* z) override {
    static std::mutex mutex;
    static std::map<std::tuple<Index, Index, Offset, Index>, Choice> known;
    const std::lock_guard lock(mutex);
    const auto [entry, fresh] = known.try_emplace({layer.inputs, layer.outputs, layer.edges, images}, choice_);
    if (fresh) entry->second = fastest(layer, images, y, z);
    choice_ = entry->second;
  }

  void multiply(const DeviceLayer& layer, Index images, const float* y, float* z) override {
    check(try_multiply(layer, images, y, z));
  }

 private:
  /// Skips choices that cuSPARSE does not support for this shape.
  Choice fastest(const DeviceLayer& layer, Index images, float* y, float* z) {
    double least = std::numeric_limits<double>::infinity();
    Choice best = choice_;
    for (const Choice& candidate : kChoices) {
      choice_ = candidate;
      if (try_multiply(layer, images, y, z) != CUSPARSE_STATUS_SUCCESS) continue;  // also warms up
      const std::vector<double> seconds = device_seconds(stream_, 3, [&] { multiply(layer, images, y, z); });
      const double shortest = *std::min_element(seconds.begin(), seconds.end());
      if (shortest < least) {
        least = shortest;
        best = candidate;
      }
    }
    return best;
  }

  cusparseStatus_t try_multiply(const DeviceLayer& layer, Index images, const float* y, float* z) {
    SparseMatrix weights;
    check(cusparseCreateCsr(weights.out(), layer.outputs, layer.inputs, static_cast<std::int64_t>(layer.edges),
                            const_cast<std::uint32_t*>(layer.offsets), const_cast<Index*>(layer.indices),
                            const_cast<float*>(layer.values), CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                            CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F));
    const DenseMatrix from = columns(layer.inputs, images, const_cast<float*>(y));
    const DenseMatrix to = columns(layer.outputs, images, z);
    const float one = 1.0F;
    const float zero = 0.0F;
    constexpr auto kAsIs = CUSPARSE_OPERATION_NON_TRANSPOSE;
    std::size_t bytes = 0;
    const cusparseStatus_t status = cusparseSpMM_bufferSize(context_, kAsIs, kAsIs, &one, weights.get(), from.get(),
                                                            &zero, to, CUDA_R_32F, choice_.algorithm, &bytes);
    if (status != CUSPARSE_STATUS_SUCCESS) return status;
    workspace_.reserve(bytes, stream_);  // grows in the first run only
    return cusparseSpMM(context_, kAsIs, kAsIs, &one, weights.get(), from.get(), &zero, to, CUDA_R_32F,
                        choice_.algorithm, workspace_.data());
  }

  /// Activations as a matrix of neurons x images.
  DenseMatrix columns(Index neurons, Index images, float* values) const {
    const bool by_image = choice_.layout == Layout::by_image;
    DenseMatrix matrix;
    check(cusparseCreateDnMat(matrix.out(), neurons, images, by_image ? neurons : images, values, CUDA_R_32F,
                              by_image ? CUSPARSE_ORDER_COL : CUSPARSE_ORDER_ROW));
    return matrix;
  }

  cudaStream_t stream_;
  SparseContext context_;
  Choice choice_ = kChoices.front();
  DeviceBuffer<std::byte> workspace_;
};

std::unique_ptr<DenseProduct<float>> make_product(const Plan&, const EngineOptions&, cudaStream_t stream) {
  return std::make_unique<SpmmProduct>(stream);
}

}  // namespace

Support support_cusparse_spmm(const Plan& plan, const BatchInfo& batch, const EngineOptions& options) {
  // cuSPARSE's workspace splits the edges among blocks: a few bytes per edge of one layer.
  std::size_t edges = 0;
  for (Index k = 0; k < plan.depth(); ++k) edges = std::max<std::size_t>(edges, plan.shape(k).edges);
  return {.why_not = reason_against_library(plan, "cusparse_spmm"),
          .working_bytes = DenseEngine<float>::device_bytes(plan, kFormat, options, batch.images) + 16 * edges};
}

std::unique_ptr<Engine> make_cusparse_spmm(std::shared_ptr<const Plan> plan, const BatchInfo& /*batch*/,
                                           const EngineOptions& options) {
  return std::make_unique<DenseEngine<float>>(with_distinct_inputs(*plan), options, kFormat, make_product);
}

}  // namespace spdnn
